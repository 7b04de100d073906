#!/bin/sh
# jim_submit.sh OPTIONS [-- ARGUMENTS]: hand one job to JIM, as blahpd calls it. Whatever fails puts the job on hold, with
# what stands on stderr as the reason.
PATH=/usr/bin:/bin HOME='' XDG_STATE_HOME=''
export HOME XDG_STATE_HOME
door=${jim_shell:-${0%/*}/..}/jim_submit.sh
. "${door%/*}/jim-home"

call=$(mktemp "${TMPDIR:-/tmp}/jim-call.XXXXXX") || exit 1 # others may write there, but not know a name before it is made
# blahpd kills what is silent for 30 s. It also waits until nobody has its pipes, so the sleep must not.
(while sleep 5 </dev/null >/dev/null 2>&1; do echo 'jim_submit.sh: JIM is at work' >&2; done) </dev/null >/dev/null &
beat=$!
trap 'kill "$beat" 2>/dev/null; rm -f "$call"' EXIT
trap 'exit 1' TERM INT HUP
for word in "${jim_spool-}" "$@"; do printf '%s\0' "$word"; done >"$call" || exit 1
for pause in 1 4 10 ''; do
    answer=$( (jim_door --door condor submit "$call") </dev/null) && break
    code=$?
    # 2: this request can never be accepted; 3: the site is not set up.
    case $code in 2 | 3) exit "$code" ;; esac
    [ -n "$pause" ] || exit "$code"
    sleep "$pause" </dev/null >/dev/null 2>&1
done
[ -z "$answer" ] || printf '%s\n' "$answer"

#!/bin/sh
# jim_submit.sh OPTIONS [-- ARGUMENTS]: hand one job to JIM, as blahpd calls it. Whatever fails puts the job on hold, with
# what stands on stderr as the reason.
PATH=/usr/bin:/bin HOME='' XDG_STATE_HOME=''
export HOME XDG_STATE_HOME
door=${jim_shell:-${0%/*}/..}/jim_submit.sh
. "${door%/*}/jim-home"

hand_in() { # WORD...: through a pipe, as a file in a shared directory could be somebody else's; their number comes first
    for word in $# "${jim_spool-}" "$@"; do printf '%s\0' "$word" 2>/dev/null; done |
        (jim_door --door condor submit /dev/stdin)
}

# blahpd kills what is silent for 30 s. It also waits until nobody has its pipes, so the sleep must not.
(while sleep 5 </dev/null >/dev/null 2>&1; do echo 'jim_submit.sh: JIM is at work' >&2; done) </dev/null >/dev/null &
beat=$!
trap 'kill "$beat" 2>/dev/null' EXIT
trap 'exit 1' TERM INT HUP
for pause in 1 4 10 ''; do
    answer=$(hand_in "$@") && break
    code=$?
    # 2: this request can never be accepted; 3: the site is not set up.
    case $code in 2 | 3) exit "$code" ;; esac
    [ -n "$pause" ] || exit "$code"
    sleep "$pause" </dev/null >/dev/null 2>&1
done
[ -z "$answer" ] || printf '%s\n' "$answer"

#!/bin/sh
# jim_status.sh [-w] jim/DATE/G: print what the keeper has written of a grid job, for blahpd, which calls it for each job
# again and again. No other process is started while the keeper's heart beats.
PATH=/usr/bin:/bin HOME='' XDG_STATE_HOME='' # those of the daemons
here=${jim_shell:-${0%/*}/..}
. "$here/jim-answers"

[ "${1-}" != -w ] || shift
job=${1-} job=${job##*/}
case $job in
'' | 0* | *[!0-9]*)
    echo "jim_status.sh: expected jim/DATE/G, as jim_submit.sh printed it, found '${1-}'" >&2
    exit 1
    ;;
esac
heart_beats || { [ -d "$state/inbox" ] && wake_keeper; }
# The first line is the ad; the second one is for people.
{ [ -f "$state/answers/$job" ] && IFS= read -r line <"$state/answers/$job" && [ -n "$line" ]; } 2>/dev/null || {
    echo "jim_status.sh: there is no answer about grid job $job in $state; see jim show $job" >&2
    exit 1
}
[ -p "$state/asked/$job" ] || true 2>/dev/null >"$state/asked/$job" # so that jim ce check knows who is asked about
printf '%s\n' "$line"

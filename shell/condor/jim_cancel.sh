#!/bin/sh
# jim_cancel.sh DATE/G...: end grid jobs. HTCondor forgets a job whose cancel has failed, so it is tried for a while.
PATH=/usr/bin:/bin HOME='' XDG_STATE_HOME=''
export HOME XDG_STATE_HOME
door=${jim_shell:-${0%/*}/..}/jim_cancel.sh
. "${door%/*}/jim-home"

cancel() { # DATE/G
    for pause in 1 4 10 ''; do
        answer=$( (jim_door --door condor cancel "${1##*/}") </dev/null)
        case $answer in ' 0 '*) break ;; esac
        [ -n "$pause" ] || break
        echo 'jim_cancel.sh: trying again' >&2
        sleep "$pause" </dev/null >/dev/null 2>&1
    done
    printf '%s\n' "${answer:- 1 JIM\ did\ not\ answer}"
}

case $# in
1) cancel "$1" ;;
*)
    number=0
    for job do
        printf '.%d' "$number"
        cancel "$job"
        number=$((number + 1))
    done
    ;;
esac

#!/bin/sh
# jim_resume.sh DATE/G: resume a grid job. HTCondor itself cancels what is held, and never calls this.
PATH=/usr/bin:/bin HOME='' XDG_STATE_HOME=''
export HOME XDG_STATE_HOME
job=${1-}
exec "${jim_shell:-${0%/*}/..}/jim" resume "${job##*/}" </dev/null >/dev/null

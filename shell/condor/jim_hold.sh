#!/bin/sh
# jim_hold.sh DATE/G: suspend a grid job. HTCondor itself cancels what is held, and never calls this.
PATH=/usr/bin:/bin HOME='' XDG_STATE_HOME=''
export HOME XDG_STATE_HOME
job=${1-}
exec "${jim_shell:-${0%/*}/..}/jim" suspend "${job##*/}" </dev/null >/dev/null

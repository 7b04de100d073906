#!/bin/sh
# jim_ping.sh: tell blahpd, each time it starts, whether JIM can be called.
PATH=/usr/bin:/bin
door=${jim_shell:-${0%/*}/..}/jim_ping.sh
if reason=$( (. "${door%/*}/jim-home") 2>&1); then echo '0 No error'; else printf '1 %s\n' "$reason"; fi

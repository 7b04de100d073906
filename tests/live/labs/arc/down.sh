#!/bin/sh
# Takes the ARC lab down: A-REX, its REST interface, their jobs' files, keys and certificates. JIM's files are left to
# `jim arc unregister`. The packages stay, as do the two accounts.
lab=arc
. "${0%/*}/../common.sh"
marked=JIM_LAB=$dir

# shellcheck disable=SC2046
for name in arched gm-jobs; do end "$name" $(pids_of "$name"); done
rm -rf "$dir"
say 'is down'

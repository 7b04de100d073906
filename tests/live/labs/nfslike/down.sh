#!/bin/sh
# Takes the two clients down, and everything under their directory.
lab=nfslike
. "${0%/*}/../common.sh"
marked=JIM_LAB=$dir

# shellcheck disable=SC2046
end nfslike $(pids_of nfslike)
rm -rf "$dir"
say 'is down'

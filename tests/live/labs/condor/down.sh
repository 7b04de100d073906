#!/bin/sh
# Takes the HTCondor lab down: its jobs, its daemons, and everything under its directory. A half-built one, too.
lab=condor
. "${0%/*}/../common.sh"
marked=JIM_LAB=$dir

# shellcheck disable=SC2046
end condor_master $(pids_of condor_master)
# A starter that has lost its master ends its job itself, but takes its time.
# shellcheck disable=SC2046
end condor_ $(pids_of condor_)
rm -rf "$dir"
say 'is down'

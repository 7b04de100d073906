#!/bin/sh
# Takes the HTCondor lab down: its jobs, its daemons, and everything under its directory. A half-built one, too. Its
# programs stay, for the next time.
lab=condor
. "${0%/*}/../common.sh"
marked=JIM_LAB=$dir

# The schedd before the jobs, or it would have them started again.
# shellcheck disable=SC2046
for name in condor_master condor_schedd; do end "$name" $(pids_of "$name"); done
# shellcheck disable=SC2046
end_with_job $(pids_of condor_starter)
# shellcheck disable=SC2046
end condor_ $(pids_of condor_)
rm -rf "$dir"
say 'is down'

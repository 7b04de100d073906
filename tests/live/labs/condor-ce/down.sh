#!/bin/sh
# Takes the HTCondor-CE lab down: its daemons, its jobs' gridmanagers, and everything under its directory. A half-built
# one, too. Its programs stay, for the next time.
lab=condor-ce
. "${0%/*}/../common.sh"
marked=JIM_LAB=$dir

# The master first, or it would start the others again.
# shellcheck disable=SC2046
for name in condor_master condor_schedd condor_ blahpd; do end "$name" $(pids_of "$name"); done
rm -rf "$dir"
say 'is down'

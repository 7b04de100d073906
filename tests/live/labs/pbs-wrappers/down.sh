#!/bin/sh
# Takes the PBS wrappers away; the Slurm lab stays.
lab=pbs-wrappers
. "${0%/*}/../common.sh"
rm -rf "$dir" "$labs/slurm/plugstack.d/pbs.conf"
say 'is down'

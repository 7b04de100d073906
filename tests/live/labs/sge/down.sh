#!/bin/sh
# Takes the Grid Engine lab down: its jobs, its daemons, its cell, and everything under its directory.
lab=sge
. "${0%/*}/../common.sh"
marked=JIM_LAB=$dir

# shellcheck disable=SC2046
end sge_qmaster $(pids_of sge_qmaster)
# shellcheck disable=SC2046
end sge_execd $(pids_of sge_execd)
# shellcheck disable=SC2046
end_with_job $(pids_of sge_shepherd)
rm -rf "$dir" /var/lib/gridengine/jimlab
say 'is down'

#!/bin/sh
# Takes the Grid Engine lab down: its jobs, its daemons, its cell, and everything under its directory.
lab=sge
. "${0%/*}/../common.sh"
marked=JIM_LAB=$dir

if [ -r "$dir/env.sh" ]; then
    (. "$dir/env.sh" && timeout 5 qdel -f -u '*') >/dev/null 2>&1 || true
fi
for name in sge_execd sge_qmaster sge_shepherd; do
    # shellcheck disable=SC2046
    end "$name" $(pids_of "$name")
done
rm -rf "$dir" /var/lib/gridengine/jimlab
say 'is down'

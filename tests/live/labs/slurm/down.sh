#!/bin/sh
# Takes the Slurm lab down: its jobs, its daemons, and everything under its directory. A half-built one, too.
lab=slurm
. "${0%/*}/../common.sh"
conf=/etc/slurm/slurm.conf
marked=JIM_LAB=$dir

if [ "$(readlink "$conf")" = "$dir/slurm.conf" ]; then
    timeout 10 scancel --user="$user" >/dev/null 2>&1 || true
fi
# shellcheck disable=SC2046
end slurmctld $(pids_of slurmctld)
# shellcheck disable=SC2046
end slurmd $(pids_of slurmd)
# A step outlives its daemon, and its children are the job. It has no environment, but works in our directory.
for step in $(pgrep -x slurmstepd || true); do
    case $(readlink "/proc/$step/cwd") in "$dir"/*) ;; *) continue ;; esac
    for child in $(cat "/proc/$step"/task/*/children 2>/dev/null); do
        kill -KILL -- "-$child" 2>/dev/null || kill -KILL "$child" 2>/dev/null || true
    done
    kill -KILL "$step" 2>/dev/null || true
done
# shellcheck disable=SC2046
for name in slurmdbd mariadbd munged; do end "$name" $(pids_of "$name"); done

for link in slurm.conf slurmdbd.conf; do
    case $(readlink "/etc/slurm/$link") in "$dir"/*) rm -f "/etc/slurm/$link" ;; esac
done
rm -rf "$dir"
say 'is down'

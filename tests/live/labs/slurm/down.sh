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
# A step has no environment, but works in our directory.
for name in /proc/[0-9]*/comm; do
    [ "$(cat "$name" 2>/dev/null)" = slurmstepd ] || continue
    step=${name%/comm} step=${step#/proc/}
    case $(readlink "/proc/$step/cwd") in "$dir"/*) end_with_job "$step" ;; esac
done
# shellcheck disable=SC2046
for name in slurmdbd mariadbd munged; do end "$name" $(pids_of "$name"); done

for link in slurm.conf slurmdbd.conf; do
    case $(readlink "/etc/slurm/$link") in "$dir"/*) rm -f "/etc/slurm/$link" ;; esac
done
rm -rf "$dir"
say 'is down'

#!/bin/sh
# Takes the GRAM lab down: the gatekeeper, its job managers with what they know of their jobs, keys and certificates.
# Jobs themselves are left to who runs them. The packages stay, as do the three accounts.
lab=gram
. "${0%/*}/../common.sh"
marked=JIM_LAB=$dir

# shellcheck disable=SC2046
end globus-gatekeep $(pids_of globus-gatekeep)
# What a job manager starts has nothing of the lab in its environment, but the job manager has.
# shellcheck disable=SC2046
end globus-job-mana $(pids_of globus-job-mana)

# shellcheck disable=SC2046
rm -f $(cat "$dir/trusted" 2>/dev/null)
for name in jobmanager-fork jobmanager; do
    case $(readlink "/etc/grid-services/$name" 2>/dev/null) in
        *jobmanager-fork-poll) rm -f "/etc/grid-services/$name" ;;
    esac
done
for name in "$user" gridother; do
    home=$(getent passwd "$name" | cut -d: -f6)
    [ -n "$home" ] || continue
    rm -rf "$home/.globus/job" "$home/.globus/.gass_cache" "/var/lib/globus/gram_job_state/$name" "/var/log/globus/gram_$name.log"
done
rm -rf "$dir"
say 'is down'

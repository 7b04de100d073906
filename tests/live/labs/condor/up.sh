#!/bin/sh
# Brings up a real HTCondor on this one machine, as root, no systemd, 127.0.0.1 only; its daemons and jobs are the
# ordinary user's, who has a pool of one machine. Debian has the package from 13 on, Debian 12 has none.
#
#   CONDOR_LAB_CPUS    processors that it pretends to have       (default 8)
#   CONDOR_LAB_EXTRA   a file with more lines for the configuration
# See common.sh for more. Port: 9618.
lab=condor
. "${0%/*}/../common.sh"
cpus=${CONDOR_LAB_CPUS:-8}
extra=${CONDOR_LAB_EXTRA:-/dev/null}
conf=$dir/condor_config
marked=JIM_LAB=$dir

"$here/down.sh"
install_packages htcondor
make_user
for each in log lock run spool execute; do install -d -o "$user" -m 755 "$dir/$each"; done
chmod 755 "$labs" "$dir"
cat >"$conf" <<CONF
RELEASE_DIR = /usr
BIN = /usr/bin
SBIN = /usr/sbin
LIB = /usr/lib/condor
LIBEXEC = /usr/libexec/condor
SHARE = /usr/share/condor
LOCAL_DIR = $dir
RUN = $dir/run
LOG = $dir/log
LOCK = $dir/lock
SPOOL = $dir/spool
EXECUTE = $dir/execute
CONDOR_HOST = 127.0.0.1
NETWORK_INTERFACE = 127.0.0.1
BIND_ALL_INTERFACES = false
NO_DNS = true
DEFAULT_DOMAIN_NAME = localdomain
UID_DOMAIN = localdomain
FILESYSTEM_DOMAIN = localdomain
DAEMON_LIST = MASTER COLLECTOR NEGOTIATOR SCHEDD STARTD
# Whoever reaches this loopback may do all; who they are, they show by making a file.
ALLOW_READ = *
ALLOW_WRITE = *
ALLOW_DAEMON = *
ALLOW_NEGOTIATOR = *
ALLOW_ADMINISTRATOR = *
SEC_DEFAULT_AUTHENTICATION = OPTIONAL
SEC_DEFAULT_AUTHENTICATION_METHODS = FS
NUM_CPUS = $cpus
MEMORY = $((cpus * 512))
START = true
SUSPEND = false
PREEMPT = false
KILL = false
WANT_SUSPEND = false
USE_PROCD = false
DISCARD_SESSION_KEYRING_ON_STARTUP = false
NEGOTIATOR_INTERVAL = 5
NEGOTIATOR_CYCLE_DELAY = 2
NEGOTIATOR_MIN_INTERVAL = 2
SCHEDD_INTERVAL = 5
SCHEDD_MIN_INTERVAL = 2
PERIODIC_EXPR_INTERVAL = 5
UPDATE_INTERVAL = 10
$(cat "$extra")
CONF
as_user() { start_clean CONDOR_CONFIG="$conf" runuser -u "$user" -- "$@"; }
as_user env "$marked" condor_master -pidfile "$dir/run/master.pid"
serves() { as_user condor_q -totals && as_user condor_status -af Name | grep -q .; }
wait_for 60 condor_schedd serves
{
    printf '[batch]\nsystem = "condor"\n\n[batch.commands]\n'
    while read -r verb program; do printf '%s = ["env", "CONDOR_CONFIG=%s", "%s"]\n' "$verb" "$conf" "$program"; done
} >"$dir/site.toml" <<VERBS
submit condor_submit
query condor_q
find condor_q
ping condor_q
history condor_history
cancel condor_rm
hold condor_hold
release condor_release
suspend condor_suspend
resume condor_continue
VERBS
say "is up: $(as_user condor_version | head -n 1), $cpus processors; JIM_SITE=$dir/site.toml"

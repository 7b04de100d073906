#!/bin/sh
# Brings up a real HTCondor (Debian 13: 23.9) on this one machine: Debian 12 or later, as root, no systemd, 127.0.0.1
# only. Daemons and jobs are the ordinary user's, who has a pool of one machine.
# Safe to repeat: a healthy one with the same settings is left alone, any other is built anew.
#
#   CONDOR_LAB_CPUS    processors that it pretends to have       (default 8)
#   CONDOR_LAB_EXTRA   a file with more lines for the configuration
#   CONDOR_LAB_CACHE   see programs.sh
# See common.sh for more. Port: 16618. People: . DIR/env.sh; JIM: JIM_SITE=DIR/site.toml
lab=condor
. "${0%/*}/../common.sh"
cpus=${CONDOR_LAB_CPUS:-8}
extra=${CONDOR_LAB_EXTRA:-/dev/null}
. "$here/programs.sh"
conf=$dir/condor_config
marked=JIM_LAB=$dir

settings="$cpus $cache $(cksum <"$extra")"
serves() { timeout 10 condor_q -totals && timeout 10 condor_status -af Name | grep -q .; }
# A processor whose job has lost its shadow is nobody's for a long while.
all_serve() { serves && ! condor_status -af Activity | grep -q Vacating; }
# shellcheck disable=SC1091
if [ "$(cat "$dir/settings" 2>/dev/null)" = "$settings" ] && (. "$dir/env.sh" && all_serve) >/dev/null 2>&1; then
    say 'is up already'
    exit 0
fi
"$here/down.sh"
make_user

get_programs

for each in log lock run spool execute; do install -d -o "$user" -m 755 "$dir/$each"; done
chmod 755 "$labs" "$dir"
cat >"$conf" <<CONF
RELEASE_DIR = $programs
BIN = $programs/bin
SBIN = $programs/sbin
LIB = $programs/lib
LIBEXEC = $programs/libexec/condor
SHARE = $programs/share/condor
LOCAL_DIR = $dir
RUN = $dir/run
LOG = $dir/log
LOCK = $dir/lock
SPOOL = $dir/spool
EXECUTE = $dir/execute
# Without it, root's commands look for an account of HTCondor's own.
CONDOR_IDS = $(id -u "$user").$(id -g "$user")
CONDOR_HOST = 127.0.0.1
COLLECTOR_HOST = 127.0.0.1:16618
USE_SHARED_PORT = true
SHARED_PORT_PORT = 16618
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
USE_PROCD = true
RunBenchmarks = false
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
cat >"$dir/env.sh" <<SETTING
export CONDOR_CONFIG=$conf PATH=$programs/bin:$programs/sbin:\$PATH
SETTING
# shellcheck disable=SC1091
. "$dir/env.sh"
start_clean "$marked" CONDOR_CONFIG="$conf" runuser -u "$user" -- "$programs/sbin/condor_master" \
    -pidfile "$dir/run/master.pid" >"$dir/log/start" 2>&1
wait_for 60 condor_schedd serves
{
    printf '[batch]\nsystem = "condor"\n\n[batch.commands]\n'
    for each in submit=submit query=q find=q ping=q history=history cancel=rm hold=hold release=release \
        suspend=suspend resume=continue; do
        printf '%s = ["env", "CONDOR_CONFIG=%s", "%s"]\n' "${each%=*}" "$conf" "$programs/bin/condor_${each#*=}"
    done
} >"$dir/site.toml"
echo "$settings" >"$dir/settings"
version=$(condor_version | sed -n '1s/[^ ]* \([^ ]*\).*/\1/p')
say "is up: HTCondor $version, $cpus processors; . $dir/env.sh; JIM_SITE=$dir/site.toml"

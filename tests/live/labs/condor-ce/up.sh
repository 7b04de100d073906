#!/bin/sh
# Brings up what an HTCondor-CE consists of (HTCondor of Debian 13: 23.9) on this one machine: Debian 12 or later, as
# root, no systemd, 127.0.0.1 only: collector, schedd, job router, gridmanager, and blahpd, which runs as the owner of
# each job. There is no pool behind it: whatever is not routed or for the grid universe stays in the queue.
# Safe to repeat: a healthy one with the same settings is left alone, any other is built anew.
#
#   CE_LAB_POLL        seconds between two status calls for a job       (default 2)
#   CONDOR_LAB_CACHE   see ../condor/programs.sh
# See common.sh for more. Port: 16620. People: . DIR/env.sh. `jim ce register` finds all that it needs by
# condor_config_val, which DIR/env.sh puts into PATH.
lab=condor-ce
. "${0%/*}/../common.sh"
. "$here/../condor/programs.sh"
poll=${CE_LAB_POLL:-2}
conf=$dir/condor_config
marked=JIM_LAB=$dir

settings="$poll $cache"
serves() { timeout 10 condor_q -totals && timeout 10 condor_status -schedd -af Name | grep -q .; }
# shellcheck disable=SC1091
if [ "$(cat "$dir/settings" 2>/dev/null)" = "$settings" ] && (. "$dir/env.sh" && serves) >/dev/null 2>&1; then
    say 'is up already'
    exit 0
fi
"$here/down.sh"
make_user
get_programs

for each in log lock run spool execute config.d bin blahp/bin blahp/etc blahp/libexec; do install -d -m 755 "$dir/$each"; done
for each in log lock run spool execute; do chown daemon: "$dir/$each"; done
install -d -m 1777 "$dir/userlog"
chmod 755 "$labs" "$dir"
# A copy of BLAHP of its own, where JIM may put its scripts.
cp -R "$programs/libexec/blahp" "$dir/blahp/libexec/"
ln -s "$programs/bin/blahpd" "$dir/blahp/bin/blahpd"
sed "s|^blah_libexec_directory=.*|blah_libexec_directory=$dir/blahp/libexec/blahp|" "$cache/$suite/etc/blah.config" \
    >"$dir/blahp/etc/blah.config"
cat >"$conf" <<CONF
RELEASE_DIR = $programs
BIN = $programs/bin
SBIN = $programs/sbin
LIB = $programs/lib
LIBEXEC = $programs/libexec/condor
SHARE = $programs/share/condor
LOCAL_DIR = $dir
LOCAL_CONFIG_DIR = $dir/config.d
RUN = $dir/run
LOG = $dir/log
LOCK = $dir/lock
SPOOL = $dir/spool
EXECUTE = $dir/execute
CONDOR_IDS = $(id -u daemon).$(id -g daemon)
CONDOR_HOST = 127.0.0.1
COLLECTOR_HOST = 127.0.0.1:16620
USE_SHARED_PORT = true
SHARED_PORT_PORT = 16620
NETWORK_INTERFACE = 127.0.0.1
BIND_ALL_INTERFACES = false
NO_DNS = true
DEFAULT_DOMAIN_NAME = localdomain
UID_DOMAIN = localdomain
FILESYSTEM_DOMAIN = localdomain
TRUST_UID_DOMAIN = true
DAEMON_LIST = MASTER COLLECTOR SCHEDD JOB_ROUTER
# Whoever reaches this loopback may do all; who they are, they show by making a file.
ALLOW_READ = *
ALLOW_WRITE = *
ALLOW_DAEMON = *
ALLOW_ADMINISTRATOR = *
SEC_DEFAULT_AUTHENTICATION = OPTIONAL
SEC_DEFAULT_AUTHENTICATION_METHODS = FS
DISCARD_SESSION_KEYRING_ON_STARTUP = false
MASTER_BACKOFF_CONSTANT = 1
SCHEDD_INTERVAL = 5
SCHEDD_MIN_INTERVAL = 2
PERIODIC_EXPR_INTERVAL = 5
SYSTEM_PERIODIC_REMOVE = false
BATCH_GAHP = $dir/blahp/bin/blahpd
BLAHPD_LOCATION = $dir/blahp
GLITE_LOCATION = $dir/blahp
GRIDMANAGER_LOG = $dir/userlog/GridmanagerLog.\$(USERNAME)
GRIDMANAGER_DEBUG = D_FULLDEBUG
GRIDMANAGER_JOB_PROBE_INTERVAL = $poll
GRIDMANAGER_CHECKPROXY_INTERVAL = 5
GRIDMANAGER_MINIMUM_PROXY_TIME = 10
JOB_ROUTER_POLLING_PERIOD = 3
JOB_ROUTER_DEBUG = D_FULLDEBUG
JOB_ROUTER_SCHEDD1_SPOOL = $dir/spool
JOB_ROUTER_SCHEDD2_SPOOL = $dir/spool
JOB_ROUTER_SCHEDD1_NAME =
JOB_ROUTER_SCHEDD2_NAME =
CONF
for each in "$programs"/bin/condor_* "$programs"/sbin/condor_*; do
    printf '#!/bin/sh\nCONDOR_CONFIG=%s exec %s "$@"\n' "$conf" "$each" >"$dir/bin/${each##*/}"
done
chmod 755 "$dir"/bin/*
echo "export PATH=$dir/bin:\$PATH" >"$dir/env.sh"
# shellcheck disable=SC1091
. "$dir/env.sh"
start_clean "$marked" HOME=/root CONDOR_CONFIG="$conf" "$programs/sbin/condor_master" \
    -pidfile "$dir/run/master.pid" >"$dir/log/start" 2>&1
wait_for 60 condor_schedd serves
echo "$settings" >"$dir/settings"
version=$(condor_version | sed -n '1s/[^ ]* \([^ ]*\).*/\1/p')
say "is up: HTCondor $version as a CE; . $dir/env.sh"

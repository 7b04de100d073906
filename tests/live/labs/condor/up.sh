#!/bin/sh
# Brings up a real HTCondor (Debian 13: 23.9) on this one machine: Debian 12 or later, as root, no systemd, 127.0.0.1
# only. Daemons and jobs are the ordinary user's, who has a pool of one machine.
# Safe to repeat: a healthy one with the same settings is left alone, any other is built anew.
#
#   CONDOR_LAB_CPUS    processors that it pretends to have       (default 8)
#   CONDOR_LAB_EXTRA   a file with more lines for the configuration
#   CONDOR_LAB_CACHE   where its programs are kept; down.sh leaves them there   (default /var/cache/jim-labs/condor)
# See common.sh for more. Port: 16618. People: . DIR/env.sh; JIM: JIM_SITE=DIR/site.toml
lab=condor
. "${0%/*}/../common.sh"
cpus=${CONDOR_LAB_CPUS:-8}
extra=${CONDOR_LAB_EXTRA:-/dev/null}
cache=${CONDOR_LAB_CACHE:-/var/cache/jim-labs/condor}
suite=trixie
programs=$cache/$suite/usr
conf=$dir/condor_config
marked=JIM_LAB=$dir

case $cache in /?*/?*) ;; *) die "CONDOR_LAB_CACHE=$cache: name an absolute path, at least two deep" ;; esac
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

# Debian 12 has no HTCondor, and Debian 13's wants a newer C library than is here. So nothing is installed: its packages
# and what they need are unpacked beside each other, and each program is told to use the loader and libraries there. It
# still sees this machine's files and accounts, and its jobs are this machine's programs.
the_mirror() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI)' \
        'Identifier: Packages' 'Origin: Debian' 'Label: Debian' 'Component: main' | head -n 1
}
fetch_programs() {
    install_packages patchelf
    mirror=$(the_mirror)
    # Before its first update apt does not know whose its sources are.
    [ -n "$mirror" ] || { apt-get update -q >/dev/null && mirror=$(the_mirror); }
    [ -n "$mirror" ] || die 'apt has no source of Debian'
    say "fetching HTCondor from $suite"
    new=$cache/new
    rm -rf "$new"
    mkdir -p "$new/etc/apt/preferences.d" "$new/var/lib/apt/lists/partial" "$new/var/cache/apt/archives/partial" \
        "$new/tree"
    # An apt of its own, by whose list of packages nothing is there: so it fetches the C library, too.
    : >"$new/status"
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [signed-by=$keys] $mirror $suite main" >"$new/etc/apt/sources.list"
    set -- apt-get -qq -o Dir="$new" -o Dir::State::status="$new/status" -o Acquire::Languages=none \
        -o APT::Default-Release= -o APT::Sandbox::User=root -o APT::Keep-Downloaded-Packages=true
    "$@" update
    "$@" install -y --no-install-recommends --download-only condor
    for deb in "$new"/var/cache/apt/archives/*.deb; do
        case ${deb##*/} in
            *_all.deb | libperl* | libpython* | libboost*) ;; # its scripts and Python bindings are not used
            condor_* | lib* | zlib1g_*)
                dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$new/tree" --exclude=./usr/share/doc \
                    --exclude=./usr/share/locale --exclude=./usr/lib/python3 --exclude='./usr/lib/*/gconv'
                ;;
        esac
    done
    for program in "$new"/tree/usr/bin/* "$new"/tree/usr/sbin/* "$new"/tree/usr/libexec/condor/*; do
        [ ! -L "$program" ] || continue
        loader=$(patchelf --print-interpreter "$program" 2>/dev/null) || continue # a script
        patchelf --set-interpreter "$programs$loader" --force-rpath \
            --set-rpath "$programs/lib/$(uname -m)-linux-gnu:$programs/lib" "$program"
    done
    chmod -R a+rX "$cache"
    # Under its last name it is complete.
    mv "$new/tree" "$cache/$suite"
    rm -rf "$new"
}
[ -d "$cache/$suite" ] || fetch_programs

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

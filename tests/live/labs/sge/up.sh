#!/bin/sh
# Brings up a real Grid Engine (Debian 12: Son of Grid Engine 8.1.9) on this one machine: as root, no systemd,
# 127.0.0.1 only. Safe to repeat: a healthy one is left alone, any other is built anew.
#
#   SGE_LAB_SLOTS   slots of the only queue, all.q   (default 8)
# See common.sh for more. Ports: 16444 qmaster, 16445 execd. People: . DIR/env.sh; JIM: JIM_SITE=DIR/site.toml
lab=sge
. "${0%/*}/../common.sh"
slots=${SGE_LAB_SLOTS:-8}
root=/var/lib/gridengine
cell=$root/jimlab
programs=/usr/lib/gridengine

if [ "$(cat "$dir/settings" 2>/dev/null)" = "$slots" ] && (. "$dir/env.sh" && timeout 5 qconf -sss) >/dev/null 2>&1; then
    say 'is up already'
    exit 0
fi
"$here/down.sh"
install_packages gridengine-master gridengine-exec gridengine-client gcc libc6-dev
make_user
case $(getent hosts "$host") in
    127.*) ;;
    *) die "the name $host must mean 127.x.x.x (see /etc/hosts): Grid Engine goes by names" ;;
esac

mkdir -p "$dir/qmaster/job_scripts" "$dir/execd" "$dir/spooldb" "$cell/common"
chmod 755 "$labs" "$dir"
chown -R sgeadmin: "$dir" "$cell"
set -- SGE_ROOT=$root SGE_CELL=jimlab SGE_QMASTER_PORT=16444 SGE_EXECD_PORT=16445 SGE_ARCH=lx-amd64
printf 'export %s\n' "$*" >"$dir/env.sh"
. "$dir/env.sh"

# The daemons bind every address; this makes it the loopback one.
cat >"$dir/loopback.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>

int bind(int fd, const struct sockaddr *wanted, socklen_t size)
{
    int (*real)(int, const struct sockaddr *, socklen_t) = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "bind");
    if (wanted && wanted->sa_family == AF_INET && size >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in changed = *(const struct sockaddr_in *)wanted;
        if (changed.sin_addr.s_addr == htonl(INADDR_ANY))
            changed.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return real(fd, (struct sockaddr *)&changed, sizeof changed);
    }
    return real(fd, wanted, size);
}
C
cc -shared -fPIC -o "$dir/loopback.so" "$dir/loopback.c" -ldl

cat >"$cell/common/bootstrap" <<CONF
admin_user              sgeadmin
default_domain          none
ignore_fqdn             false
spooling_method         berkeleydb
spooling_lib            libspoolb
spooling_params         $dir/spooldb
binary_path             /usr/sbin
qmaster_spool_dir       $dir/qmaster
security_mode           none
listener_threads        2
worker_threads          2
scheduler_threads       1
CONF
echo "$host" >"$cell/common/act_qmaster"
# 127.0.0.1 is localhost when asked backwards, and the daemons refuse each other under two names.
echo "$host localhost" >"$cell/common/host_aliases"
sed -e "s|^execd_spool_dir.*|execd_spool_dir $dir/execd|" -e 's|^mailer.*|mailer /bin/true|' -e 's|^min_\([ug]\)id.*|min_\1id 0|' \
    -e 's|^reporting_params.*|reporting_params accounting=true reporting=false flush_time=00:00:01 accounting_flush_time=00:00:01 joblog=false sharelog=00:00:00|' \
    -e 's|^load_report_time.*|load_report_time 00:00:05|' \
    /usr/share/gridengine/default-configuration >"$dir/configuration"
chown -R sgeadmin: "$cell" "$dir/configuration"

# WORDS...: what goes wrong here is told with its last words.
quietly() { "$@" >>"$dir/init.log" 2>&1 || { tail -n 3 "$dir/init.log" >&2; die "failed: $*"; }; }
quietly runuser -u sgeadmin -- sh -ec "
    $programs/spoolinit berkeleydb libspoolb $dir/spooldb init
    $programs/spooldefaults configuration $dir/configuration
    $programs/spooldefaults complexes /usr/share/gridengine/util/resources/centry
    $programs/spooldefaults usersets /usr/share/gridengine/util/resources/usersets
    $programs/spooldefaults managers sgeadmin
    $programs/spooldefaults managers root"

start_clean "$@" JIM_LAB="$dir" LD_PRELOAD="$dir/loopback.so" /usr/sbin/sge_qmaster >>"$dir/start.log" 2>&1
wait_for 30 sge_qmaster timeout 5 qconf -sh

# FILE EXPRESSION QCONF-OPTION...: let qconf edit what it has, by sed.
edit() {
    script=$dir/edit.$1
    printf '#!/bin/sh\nsed -i %s "$1"\n' "$2" >"$script"
    chmod 755 "$script"
    shift 2
    quietly env EDITOR="$script" qconf "$@"
}
quietly qconf -ah "$host"
quietly qconf -as "$host"
cat >"$dir/host" <<CONF
hostname $host
load_scaling NONE
complex_values NONE
user_lists NONE
xuser_lists NONE
projects NONE
xprojects NONE
usage_scaling NONE
report_variables NONE
CONF
quietly qconf -Ae "$dir/host"
printf 'group_name @allhosts\nhostlist %s\n' "$host" >"$dir/hosts"
quietly qconf -Ahgrp "$dir/hosts"
cat >"$dir/smp" <<'CONF'
pe_name            smp
slots              9999
user_lists         NONE
xuser_lists        NONE
start_proc_args    NONE
stop_proc_args     NONE
allocation_rule    $pe_slots
control_slaves     FALSE
job_is_first_task  TRUE
urgency_slots      min
accounting_summary TRUE
qsort_args         NONE
CONF
quietly qconf -Ap "$dir/smp"
# Without its limit on load, which would shut the queue of a busy machine.
edit queue "-e 's/^qname .*/qname all.q/' -e 's/^hostlist .*/hostlist @allhosts/' -e 's/^slots .*/slots $slots/' \
    -e 's/^load_thresholds .*/load_thresholds NONE/' -e 's/^pe_list .*/pe_list smp/' \
    -e 's/^notify .*/notify 00:00:10/' -e 's/^shell_start_mode .*/shell_start_mode unix_behavior/'" -aq all.q
edit scheduler "-e 's/^schedule_interval .*/schedule_interval 0:0:2/' -e 's/^flush_submit_sec .*/flush_submit_sec 1/' \
    -e 's/^flush_finish_sec .*/flush_finish_sec 1/' -e 's/^job_load_adjustments .*/job_load_adjustments NONE/'" -msconf

start_clean "$@" JIM_LAB="$dir" LD_PRELOAD="$dir/loopback.so" /usr/sbin/sge_execd >>"$dir/start.log" 2>&1
queue_is_ready() { qstat -f -q all.q | grep all.q@ | grep -vq ' a*u'; }
wait_for 30 'the queue' queue_is_ready

{
    printf '[batch]\nsystem = "sge"\n\n[batch.commands]\n'
    printf 'history = ["grep", "-hE", "%s/common/accounting"]\n' "$cell"
    for each in submit=qsub query=qstat find=qstat cancel=qdel change=qalter ping=qconf; do
        printf '%s = ["env", "SGE_ROOT=%s", "SGE_CELL=jimlab", "SGE_QMASTER_PORT=16444", "SGE_EXECD_PORT=16445", ' \
            "${each%=*}" "$root"
        printf '"%s/%s"]\n' "$programs" "${each#*=}"
    done
} >"$dir/site.toml"
echo "$slots" >"$dir/settings"
say "is up: $(qstat -help | head -n 1), $slots slots; . $dir/env.sh; JIM_SITE=$dir/site.toml"

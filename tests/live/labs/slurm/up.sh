#!/bin/sh
# Brings up a real Slurm on this one machine: Debian 12, as root, no systemd, 127.0.0.1 only.
# Safe to repeat: a healthy one with the same settings is left alone, any other is built anew.
#
#   SLURM_LAB_ACCOUNTS   none, filetxt (the job completion file), slurmdbd (with MariaDB)   (default filetxt)
#   SLURM_LAB_NODES      daemons that run jobs                       (default 1)
#   SLURM_LAB_HOSTNAMES  own: each daemon has the name of its node as the name of its host  (default: this machine's)
#   SLURM_LAB_CPUS       processors that each pretends to have       (default 8)
#   SLURM_LAB_MINJOBAGE  seconds that an ended job stays known       (default 300)
#   SLURM_LAB_MAXJOBS    jobs that the controller takes              (default 250000)
#   SLURM_LAB_EXTRA      a file with more lines for slurm.conf
# See common.sh for more. Ports: 16817 slurmctld, 16819 slurmdbd, 16306 MariaDB, from 17001 slurmd.
lab=slurm
. "${0%/*}/../common.sh"
accounts=${SLURM_LAB_ACCOUNTS:-filetxt}
nodes=${SLURM_LAB_NODES:-1}
cpus=${SLURM_LAB_CPUS:-8}
hostnames=${SLURM_LAB_HOSTNAMES:-}
min_job_age=${SLURM_LAB_MINJOBAGE:-300}
max_jobs=${SLURM_LAB_MAXJOBS:-250000}
extra=${SLURM_LAB_EXTRA:-/dev/null}
conf=/etc/slurm/slurm.conf
marked=JIM_LAB=$dir

if [ -e "$conf" ] && [ "$(readlink "$conf")" != "$dir/slurm.conf" ]; then
    die "$conf is not of this lab; it is left alone, and so is the Slurm that it belongs to"
fi
case $accounts in
    none) completion= ;;
    filetxt) completion="JobCompType=jobcomp/filetxt
JobCompLoc=$dir/log/jobcomp.log" ;;
    slurmdbd) completion="AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=16819" ;;
    *) die "SLURM_LAB_ACCOUNTS=$accounts: expected none, filetxt or slurmdbd" ;;
esac
settings="$accounts $nodes$hostnames $cpus $min_job_age $max_jobs $(cksum <"$extra")"
# A node that a test has brought Slurm to drain stays so.
all_serve() { scontrol ping | grep -q 'is UP' && [ -z "$(sinfo -h -p main -t drain,down,fail -o %n)" ]; }
if [ "$(cat "$dir/settings" 2>/dev/null)" = "$settings" ] && all_serve 2>/dev/null; then
    say 'is up already'
    exit 0
fi
"$here/down.sh"
install_packages slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge
[ "$accounts" != slurmdbd ] || install_packages slurmdbd mariadb-server
make_user

mkdir -p "$dir/pid" "$dir/log" "$dir/state" /etc/slurm
chmod 755 "$labs" "$dir"
chown slurm: "$dir/pid" "$dir/log" "$dir/state"

# Munge: whoever may read its key is trusted by every other that has it.
if [ ! -s /etc/munge/munge.key ]; then
    (umask 077 && head -c 1024 /dev/urandom >/etc/munge/munge.key)
    chown munge: /etc/munge/munge.key
fi
install -d -o munge -g munge -m 755 /run/munge
install -d -o munge -g munge -m 711 /var/lib/munge
install -d -o munge -g munge -m 750 /var/log/munge
munge -n >/dev/null 2>&1 || start_clean "$marked" runuser -u munge -- /usr/sbin/munged --force

memory=$((cpus * 4096))
cat >"$dir/slurm.conf" <<CONF
ClusterName=jimlab
SlurmctldHost=${host%%.*}(127.0.0.1)
SlurmctldPort=16817
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmctldPidFile=$dir/pid/slurmctld.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdPidFile=$dir/pid/slurmd.%n.pid
SlurmdLogFile=$dir/log/slurmd.%n.log
SlurmdSpoolDir=$dir/spool.%n
PlugStackConfig=$dir/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=256
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=1,sched_interval=5,bf_interval=5,bf_continue,default_queue_depth=1000
MinJobAge=$min_job_age
MaxJobCount=$max_jobs
MaxArraySize=100001
MessageTimeout=10
SlurmctldTimeout=60
SlurmdTimeout=60
KillWait=20
$completion
$(n=1; while [ "$n" -le "$nodes" ]; do
    echo "NodeName=n$n NodeHostname=${host%%.*} NodeAddr=127.0.0.1 Port=$((17000 + n)) CPUs=$cpus RealMemory=$memory"
    n=$((n + 1))
done)
PartitionName=main Nodes=n[1-$nodes] Default=YES MaxTime=7-0 DefaultTime=60 State=UP
PartitionName=short Nodes=n[1-$nodes] MaxTime=10 DefaultTime=5 State=UP
PartitionName=closed Nodes=n[1-$nodes] State=INACTIVE
PartitionName=groups Nodes=n[1-$nodes] AllowGroups=nogroup State=UP
$(cat "$extra")
CONF
echo "include $dir/plugstack.d/*" >"$dir/plugstack.conf"
mkdir -p "$dir/plugstack.d"
ln -sf "$dir/slurm.conf" "$conf"

if [ "$accounts" = slurmdbd ]; then
    data=$dir/mysql
    install -d -o mysql -g mysql -m 750 "$data"
    mariadb-install-db --no-defaults --user=mysql --datadir="$data" --auth-root-authentication-method=socket \
        --skip-test-db >"$dir/log/mysql-install.log" 2>&1
    # Nothing of ours stays open in the shell that waits for it: who reads what we say would wait, too.
    {
        exec >"$dir/log/mysql.log" 2>&1
        start_clean "$marked" setsid mariadbd --no-defaults --user=mysql --datadir="$data" --socket="$data/sock" \
            --port=16306 --bind-address=127.0.0.1 --innodb-lock-wait-timeout=900
    } &
    wait_for 30 mariadbd mariadb-admin --socket="$data/sock" ping
    secret=$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')
    mariadb --socket="$data/sock" -e "
        CREATE DATABASE slurm_acct_db;
        CREATE USER 'slurm'@'127.0.0.1' IDENTIFIED BY '$secret';
        GRANT ALL ON slurm_acct_db.* TO 'slurm'@'127.0.0.1';"
    (umask 077 && cat >"$dir/slurmdbd.conf") <<CONF
AuthType=auth/munge
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=16819
SlurmUser=slurm
PidFile=$dir/pid/slurmdbd.pid
LogFile=$dir/log/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=16306
StorageUser=slurm
StoragePass=$secret
StorageLoc=slurm_acct_db
CONF
    chown slurm: "$dir/slurmdbd.conf"
    ln -sf "$dir/slurmdbd.conf" /etc/slurm/slurmdbd.conf
    start_clean "$marked" slurmdbd
    wait_for 30 slurmdbd sacctmgr -n -i list cluster
    sacctmgr -i add cluster jimlab >/dev/null
fi

start_clean "$marked" slurmctld >/dev/null
wait_for 20 slurmctld sh -c 'scontrol ping | grep -q "is UP"'
n=1
while [ "$n" -le "$nodes" ]; do
    if [ "$hostnames" = own ]; then
        { cat /etc/hosts && echo "127.0.0.1 n$n"; } >"$dir/hosts.n$n"
        own="mount --bind $dir/hosts.n$n /etc/hosts && hostname n$n && exec slurmd -N n$n"
        start_clean "$marked" unshare --uts --mount sh -c "$own" >/dev/null
    else
        start_clean "$marked" slurmd -N "n$n" >/dev/null
    fi
    n=$((n + 1))
done
all_idle() { [ "$(sinfo -h -p main -t idle -o %D)" = "$nodes" ]; }
wait_for 30 slurmd all_idle
echo "$settings" >"$dir/settings"
printf '[batch]\nsystem = "slurm"\n' >"$dir/site.toml"
say "is up: $(slurmctld -V), $nodes node(s) of $cpus processors, accounts: $accounts; JIM_SITE=$dir/site.toml"

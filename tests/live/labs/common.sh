# What the labs share; sourced by each up.sh and down.sh, which set `lab` before.
#
#   JIM_LABS   directory of all labs' files      (default /var/lib/jim-labs)
#   LAB_USER   unprivileged account, made if it is not there; never removed   (default griduser)
set -eu

labs=${JIM_LABS:-/var/lib/jim-labs}
user=${LAB_USER:-griduser}
dir=$labs/$lab
here=$(cd "$(dirname "$0")" && pwd)
host=$(hostname)

say() { printf '%s lab: %s\n' "$lab" "$*" >&2; }
die() { say "$*"; exit 1; }

[ "$(id -u)" = 0 ] || die 'only root can do this'
case $labs in /?*/?*) ;; *) die "JIM_LABS=$labs: name an absolute path, at least two deep; it is emptied" ;; esac

# The ports of all labs: no outgoing connection may take one of them for its own end, or a daemon finds it taken (where
# those ends begin at 1024, that is so now and then). Where the kernel's settings cannot be written, chance decides.
reserved=/proc/sys/net/ipv4/ip_local_reserved_ports
ports_of_labs=2119,16306,16444-16445,16618,16620,16817,16819,17001-17099,24443,40000-40499
{ printf '%s\n' "$(cat "$reserved"),$ports_of_labs" | sed 's/^,//' >"$reserved"; } 2>/dev/null || :

# PACKAGE...: a package that is there is left as it is.
install_packages() {
    missing=
    for package do
        dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    say "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086
    set -- apt-get -o DPkg::Lock::Timeout=600 install -y -q --no-install-recommends $missing
    "$@" >/dev/null 2>&1 || { apt-get update -q >/dev/null && "$@" >/dev/null; }
}

make_user() {
    getent passwd "$user" >/dev/null || useradd -m -s /bin/bash "$user"
}

# COMMAND...: start a daemon that inherits nothing: what it has in its environment, jobs may get.
start_clean() {
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@" </dev/null
}

# SECONDS WHAT COMMAND...
wait_for() {
    left=$(($1 * 5)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || die "$what did not come up; see $dir"
        sleep 0.2
    done
}

# A zombie is as good as gone: where PID 1 is slow to reap, it stays for a while.
lives() { kill -0 "$1" 2>/dev/null && ! grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null; }

# NAME PID...: end these processes if they are that program: TERM, after 5 s KILL.
end() {
    name=$1
    shift
    for pid do
        case $(cat "/proc/$pid/comm" 2>/dev/null) in "$name"*) ;; *) continue ;; esac
        kill "$pid" 2>/dev/null || continue
        tries=0
        while lives "$pid" && [ "$tries" -lt 50 ]; do
            tries=$((tries + 1))
            [ "$tries" -ne 25 ] || kill -KILL "$pid" 2>/dev/null || true
            sleep 0.2
        done
    done
}

# PID...: end what outlives its daemon, and its children, which are the job.
end_with_job() {
    for pid do
        for child in $(cat "/proc/$pid"/task/*/children 2>/dev/null); do
            kill -s KILL -- "-$child" 2>/dev/null || kill -KILL "$child" 2>/dev/null || true
        done
        kill -KILL "$pid" 2>/dev/null || true
    done
}

# NAME...: the processes of these names whose environment holds `$marked`.
pids_of() {
    for place in /proc/[0-9]*; do
        for name do
            case $(cat "$place/comm" 2>/dev/null) in "$name"*) ;; *) continue ;; esac
            if tr '\0' '\n' 2>/dev/null <"$place/environ" | grep -qxF "$marked"; then echo "${place#/proc/}"; fi
        done
    done
}

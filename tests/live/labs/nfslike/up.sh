#!/bin/sh
# Brings up two clients of one file server, `head` and `node`, that are to a reader what NFS clients are: caches of their
# own, answers that get lost, a server that is away. As root, with FUSE; no NFS, no network. Safe to repeat: what is up
# is left alone. README tells of their faults.
#
# See common.sh for settings. `DIR/head COMMAND…` and `DIR/node COMMAND…` run a command as the one or the other sees
# DIR/shared; whoever uses neither sees there what the server has. DIR/head.ctl and DIR/node.ctl say what goes wrong, and
# what was done to an answer stands in head.ctl.journal and node.ctl.journal.
lab=nfslike
. "${0%/*}/../common.sh"
shared=$dir/shared
marked=JIM_LAB=$dir

serves() {
    for who in head node; do "$dir/$who" grep -q " $shared fuse.nfslike " /proc/mounts || return; done
}
if serves 2>/dev/null; then
    say 'is up already'
    exit 0
fi
"$here/down.sh"
install_packages gcc libc6-dev pkg-config fuse3 libfuse3-dev
[ -c /dev/fuse ] || die 'there is no /dev/fuse'

mkdir -p "$shared"
chmod 755 "$labs" "$dir" "$shared"
# shellcheck disable=SC2046
cc -O2 -Wall -o "$dir/nfslike" "$here/nfslike.c" $(pkg-config --cflags --libs fuse3) -lpthread
for who in head node; do
    : >"$dir/$who.ctl"
    # Over what it serves, in a mount namespace of its own: there the path leads to the client, elsewhere to the truth.
    # What the client has open lies elsewhere: a wrapper ends whoever writes into the directory of a payload that failed.
    mkdir -p "$dir/served-by-$who"
    # shellcheck disable=SC2016
    env -i PATH="$PATH" "$marked" setsid unshare -m --propagation private \
        sh -c 'mount --bind "$1" "$2" && exec "$3" "$2" "$1" "$4"' sh \
        "$shared" "$dir/served-by-$who" "$dir/nfslike" "$dir/$who.ctl" </dev/null >"$dir/$who.log" 2>&1 &
    printf '#!/bin/sh\nexec nsenter -m -t %s -- "$@"\n' $! >"$dir/$who"
    chmod 755 "$dir/$who"
done
wait_for 10 'a client' serves
say "is up: $dir/head and $dir/node see $shared"

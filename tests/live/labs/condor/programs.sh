# The programs of HTCondor that two labs share; sourced by each up.sh, after common.sh.
#
#   CONDOR_LAB_CACHE   where the programs are kept; no down.sh removes them   (default /var/cache/jim-labs/condor)
cache=${CONDOR_LAB_CACHE:-/var/cache/jim-labs/condor}
suite=trixie
programs=$cache/$suite/usr
case $cache in /?*/?*) ;; *) die "CONDOR_LAB_CACHE=$cache: name an absolute path, at least two deep" ;; esac

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
get_programs() { [ -d "$cache/$suite" ] || fetch_programs; }

#!/bin/sh
# install.sh install|uninstall: what `make install` does, and docs/installing.md tells. From the environment:
#   PREFIX     where to
#   DESTDIR    put before PREFIX while copying, for those who make packages
#   PYTHON     the Python that is to run JIM
#   LIBRARIES  own: those of PyPI that requirements.lock names, in an environment of JIM's own; system: those of PYTHON
set -eu
umask 022
cd -P -- "${0%/*}/.."

DOORS='jim jim-submit jim-poll jim-cancel'
UNITS='jim-keeper@.service jim-keepers.service jim-keepers.timer jim-pages@.service jim-pages-site@.service'

complain() { # REASON
    printf 'make: %s\n' "$1" >&2
    exit 3
}

check_prefix() {
    case $PREFIX in
    /*) ;;
    *) complain "PREFIX must be an absolute path, found '$PREFIX'" ;;
    esac
    # It is written into scripts, units, and lists of paths.
    case $PREFIX in
    *[\"\'\\%\$\&\`\|:[:cntrl:]]*) complain "PREFIX must not hold quotes, \\, %, \$, &, |, \` or :, found '$PREFIX'" ;;
    esac
    PREFIX=${PREFIX%/}
    into=$DESTDIR$PREFIX
}

check_source() {
    [ -e jim/adapters/base.py ] || complain 'jim/adapters is no symbolic link: unpack or clone with symbolic links'
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        complain "JIM needs Python 3.11 or newer, and $PYTHON is not; say PYTHON=…"
    python=$("$PYTHON" -c 'import sys; print(sys.executable)')
    case $LIBRARIES in
    own) ;;
    system) "$python" -P -s -c 'import lxml.etree, psutil, tenacity, rich' || complain "$python has not all that JIM needs:\
 on Debian, apt-get install python3-lxml python3-psutil python3-tenacity python3-rich, and say PYTHON=/usr/bin/python3" ;;
    *) complain "LIBRARIES must be own or system, found '$LIBRARIES'" ;;
    esac
    [ -L "$into/libexec/jim" ] || ! [ -e "$into/libexec/jim" ] || complain "$into/libexec/jim is there and not by JIM"
}

# A tree of its own for each install: what runs of an older one goes on reading that.
new_tree() {
    version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' jim/__init__.py)
    mkdir -p "$into/libexec"
    number=1
    until mkdir "$into/libexec/jim-$version.$number" 2>/dev/null; do
        [ -e "$into/libexec/jim-$version.$number" ] || complain "cannot write into $into/libexec"
        number=$((number + 1))
    done
    tree=$into/libexec/jim-$version.$number
}

fill_tree() {
    cp -RL jim "$tree"
    ln -s jim/shell "$tree/shell"
    rm "$tree/shell/jim-demo" # it wants the examples beside it, and Pythia
    find "$tree" -name __pycache__ -prune -exec rm -r {} +
    if [ "$LIBRARIES" = own ]; then
        "$python" -m venv "$tree/.venv"
        # Only what the lock names, and no source: to build one would run code of others as root.
        "$tree/.venv/bin/python" -m pip install --quiet --disable-pip-version-check \
            --require-hashes --only-binary :all: --requirement packaging/requirements.lock
        runs=$tree/.venv/bin/python
    else
        printf '%s\n' "$python" >"$tree/python"
        runs=$python
    fi
    "$runs" -P -s -m compileall -q ${DESTDIR:+-s "$DESTDIR"} "$tree/jim" # accounts cannot
    mkdir "$tree/man" "$tree/completions"
    PYTHONPATH=$tree:packaging "$runs" -P -s packaging/man.py "$tree/man"
    PYTHONPATH=$tree:packaging "$runs" -P -s packaging/completions.py "$tree/completions"
    chmod -R u=rwX,go=rX "$tree"
}

# Where each shell looks for the completions of a command.
of_shell() { # SHELL
    case $1 in
    bash) echo "$into/share/bash-completion/completions/jim" ;;
    zsh) echo "$into/share/zsh/site-functions/_jim" ;;
    fish) echo "$into/share/fish/vendor_completions.d/jim.fish" ;;
    esac
}

warn_if_hidden() {
    named=
    [ "$LIBRARIES" = own ] || named=$python
    for place in "$named" "$(readlink -f -- "$runs")"; do
        while [ -n "$place" ]; do
            case $(stat -L -c %A "$place") in
            *[xt]) place=${place%/*} && continue ;;
            esac
            echo "make: warning: accounts cannot run $runs because of $place; say PYTHON=/usr/bin/python3" >&2
            return
        done
    done
}

# Readers have the old file or the new one.
put() { # FILE MODE <CONTENT
    mkdir -p "${1%/*}"
    cat >"$1.new"
    chmod "$2" "$1.new"
    mv -f "$1.new" "$1"
}

point_to() { # NAME
    ln -s "$1" "$into/libexec/.jim.$$"
    mv -T "$into/libexec/.jim.$$" "$into/libexec/jim"
}

put_around() {
    for door in $DOORS; do
        printf '#!/bin/sh\nexec "%s/libexec/jim/shell/%s" "$@"\n' "$PREFIX" "$door" | put "$into/bin/$door" 755
    done
    for unit in $UNITS; do
        placed "share/systemd/$unit" | put "$into/lib/systemd/system/$unit" 644
    done
    rm -rf "$into/share/jim"
    placed share/cron/jim-keepers | put "$into/share/jim/cron/jim-keepers" 644
    put "$into/share/jim/systemd/set-uid-commands.conf" 644 <share/systemd/set-uid-commands.conf
    cp -RL README.md SECURITY.md CHANGELOG.md LICENSE docs examples share/monitoring "$into/share/jim"
    "$runs" -P -s packaging/pages.py "$into/share/jim"
    chmod -R u=rwX,go=rX "$into/share/jim"
    for page in "$tree"/man/*.1; do
        [ ! -e "$page" ] || put "$into/share/man/man1/${page##*/}" 644 <"$page"
    done
    for shell in bash zsh fish; do
        [ ! -e "$tree/completions/$shell" ] || put "$(of_shell $shell)" 644 <"$tree/completions/$shell"
    done
}

placed() { # FILE: as it must be for this PREFIX
    sed -e '/JIM is expected at/d' -e "s|/opt/jim/shell/jim|\"$PREFIX/bin/jim\"|" "$1"
}

# Keepers, and batch systems of JIM's own, have it in their environment.
users_of() { # TREE
    grep -lsaxzF "PYTHONPATH=$(cd -P -- "$1" && pwd)" /proc/[0-9]*/environ | cut -d / -f 3
}

install() {
    check_source
    new_tree
    trap 'rm -rf -- "$tree"' EXIT
    fill_tree
    warn_if_hidden
    before=$(readlink "$into/libexec/jim") || before=
    point_to "${tree##*/}"
    trap - EXIT
    put_around
    # The tree before stays: a door may be in it just now.
    for old in "$into"/libexec/jim-*; do
        case ${old##*/} in "${tree##*/}" | "$before") continue ;; esac
        [ -n "$(users_of "$old")" ] || rm -rf -- "$old"
    done
    echo "installed JIM $version below $into; $PREFIX/share/jim/docs/installing.md says what comes next"
}

# Each process with its account and command, which says where to look.
named() { # PID...
    for pid; do
        command=$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | tr -c '[:print:]' '?' | cut -c -80) || continue
        printf '%s%s (%s: %s)' "$between" "$pid" "$(stat -c %U "/proc/$pid" 2>/dev/null)" "${command% }"
        between=', '
    done
}

uninstall() {
    [ -L "$into/libexec/jim" ] || complain "JIM is not installed below $into: say PREFIX=…"
    for link in /etc/systemd/system/timers.target.wants/jim-keepers.timer \
        /usr/share/perl5/Globus/GRAM/JobManager/samgrid.pm; do
        case $DESTDIR$(readlink "$link") in
        "$PREFIX"/*.timer) complain "JIM is in use by its timer: systemctl disable --now jim-keepers.timer" ;;
        "$PREFIX"/*.pm) complain "a gatekeeper uses JIM: $PREFIX/bin/jim gram unregister" ;;
        esac
    done
    ! grep -qsF "'$PREFIX/" "$DESTDIR/usr/libexec/blahp/jim_status.sh" ||
        complain "an HTCondor-CE uses JIM: $PREFIX/bin/jim ce unregister"
    ! grep -qsF "'$PREFIX/" "$DESTDIR/usr/share/arc/scan-jim-job" ||
        complain "an ARC CE uses JIM: $PREFIX/bin/jim arc unregister"
    ! grep -qsF "\"$PREFIX/bin/jim\" keeper" "$DESTDIR/etc/cron.d/jim-keepers" ||
        complain "cron uses JIM: rm $DESTDIR/etc/cron.d/jim-keepers"
    for tree in "$into"/libexec/jim-*; do
        [ -e "$tree" ] || continue
        users=$(users_of "$tree")
        # shellcheck disable=SC2086 # pids
        [ -z "$users" ] || complain "JIM is in use by $(between='' && named $users); keepers end by: jim keeper --end --all,\
 or as their account, with its own JIM_STATE, by: jim keeper --end;\
 the batch system \`local\` ends a minute after its last job"
    done
    for door in $DOORS; do rm -f "$into/bin/$door"; done
    for unit in $UNITS; do rm -f "$into/lib/systemd/system/$unit"; done
    for page in "$into"/libexec/jim/man/*; do rm -f "$into/share/man/man1/${page##*/}"; done
    for shell in bash zsh fish; do rm -f "$(of_shell $shell)"; done
    rm -f "$into/libexec/jim"
    rm -rf "$into"/libexec/jim-* "$into/share/jim"
    for place in libexec lib/systemd/system lib/systemd share/man/man1; do
        rmdir "$into/$place" 2>/dev/null || : # others have something there
    done
    echo "removed JIM from $into; site file and state directories are left as they are"
    [ ! -e "$DESTDIR/etc/jim/site.toml" ] ||
        echo "as long as $DESTDIR/etc/jim/site.toml is there, each other JIM of this machine obeys it"
}

check_prefix
"$1"

#!/bin/sh
# install.sh install|uninstall: what `make install` does, and docs/installing.md tells. `install.sh package` is for those who
# make packages: their package makes the tree of a version from $TREES/dist, by packaging/trees.sh. From the environment:
#   PREFIX     where to
#   TREES      where the trees of versions are to lie; PREFIX/libexec
#   DESTDIR    put before PREFIX while copying
#   PYTHON     the Python that is to run JIM
#   LIBRARIES  own: those of PyPI that constraints.txt has, in an environment of JIM's own; system: those of PYTHON
set -eu
umask 022
cd -P -- "${0%/*}/.."
. packaging/trees.sh

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
    TREES=${TREES:-$PREFIX/libexec} trees=$DESTDIR${TREES:-$PREFIX/libexec}
    version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' jim/__init__.py)
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
    [ -L "$trees/jim" ] || ! [ -e "$trees/jim" ] || complain "$trees/jim is there and not by JIM"
}

fill_tree() {
    cp -RL jim "$tree"
    ln -s jim/shell "$tree/shell"
    find "$tree" -name __pycache__ -prune -exec rm -r {} +
    if [ "$LIBRARIES" = own ]; then
        "$python" -m venv "$tree/.venv"
        # Only files that are known, and no source: to build one would run code of others as root.
        "$python" -P -s packaging/requirements.py core pages >"$tree/needed.txt"
        "$tree/.venv/bin/python" -m pip install --quiet --disable-pip-version-check \
            --require-hashes --only-binary :all: --requirement "$tree/needed.txt"
        runs=$tree/.venv/bin/python
    else
        printf '%s\n' "$python" >"$tree/python"
        runs=$python
    fi
    "$runs" -P -s -m compileall -q ${DESTDIR:+-s "$DESTDIR"} "$tree/jim" # accounts cannot
    mkdir "$tree/man" "$tree/completions"
    PYTHONPATH=$tree:packaging "$runs" -P -s packaging/man.py "$tree/man"
    for shell in bash zsh fish; do
        JIM_PYTHON=$runs "$tree/shell/jim" completion "$shell" >"$tree/completions/$shell"
    done
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

put_around() {
    for door in $DOORS; do
        printf '#!/bin/sh\nexec "%s/jim/shell/%s" "$@"\n' "$TREES" "$door" | put "$into/bin/$door" 755
    done
    for unit in $UNITS; do
        placed "share/systemd/$unit" | put "$into/lib/systemd/system/$unit" 644
    done
    rm -rf "$into/share/jim"
    placed share/cron/jim-keepers | put "$into/share/jim/cron/jim-keepers" 644
    put "$into/share/jim/systemd/set-uid-commands.conf" 644 <share/systemd/set-uid-commands.conf
    cp -RL README.md SECURITY.md CHANGELOG.md LICENSE docs examples share/monitoring "$into/share/jim"
    find "$into/share/jim" -name __pycache__ -prune -exec rm -r {} +
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

install() {
    check_source
    new_tree "$version" || complain "cannot write into $trees"
    trap 'rm -rf -- "$tree"' EXIT
    fill_tree
    warn_if_hidden
    before=$(readlink "$trees/jim") || before=
    point_to "${tree##*/}"
    trap - EXIT
    put_around
    drop_unused "${tree##*/}" "$before" # a door may be in the one before just now
    echo "installed JIM $version below $into; $PREFIX/share/jim/docs/installing.md says what comes next"
}

package() {
    check_source
    tree=$trees/dist
    mkdir -p "$tree"
    fill_tree
    find "$tree" -name __pycache__ -prune -exec rm -r {} + # the package's own scripts compile
    put_around
    put "$trees/trees.sh" 644 <packaging/trees.sh
}

# Each process with its account and command, which says where to look; one that has ended meanwhile is no user.
named() { # PID...
    for pid; do
        account=$(stat -c %U "/proc/$pid" 2>/dev/null) || continue
        command=$({ tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | tr -c '[:print:]' '?' | cut -c -80)
        printf '%s%s (%s: %s)' "$between" "$pid" "$account" "${command% }"
        between=', '
    done
}

uninstall() {
    [ -L "$trees/jim" ] || complain "JIM is not installed below $into: say PREFIX=…"
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
    for tree in "$trees"/jim-*; do
        [ -e "$tree" ] || continue
        # shellcheck disable=SC2046 # pids
        users=$(between='' && named $(users_of "$tree"))
        [ -z "$users" ] || complain "JIM is in use by $users; keepers end by: jim keeper --end --all,\
 or as their account, with its own JIM_STATE, by: jim keeper --end;\
 the batch system \`local\` ends a minute after its last job"
    done
    for door in $DOORS; do rm -f "$into/bin/$door"; done
    for unit in $UNITS; do rm -f "$into/lib/systemd/system/$unit"; done
    for page in "$trees"/jim/man/*; do rm -f "$into/share/man/man1/${page##*/}"; done
    for shell in bash zsh fish; do rm -f "$(of_shell $shell)"; done
    rm -f "$trees/jim"
    rm -rf "$trees"/jim-* "$into/share/jim"
    for place in libexec lib/systemd/system lib/systemd share/man/man1; do
        rmdir "$into/$place" 2>/dev/null || : # others have something there
    done
    echo "removed JIM from $into; site file and state directories are left as they are"
    [ ! -e "$DESTDIR/etc/jim/site.toml" ] ||
        echo "as long as $DESTDIR/etc/jim/site.toml is there, each other JIM of this machine obeys it"
}

check_prefix
"$1"

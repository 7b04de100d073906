# The trees of JIM, one for each version and install: read by what puts JIM there. `trees` is the directory that has them,
# as jim-VERSION.N, and the link `jim` to the one in use. What runs of an older tree goes on reading that.

new_tree() { # VERSION: make an empty one, and set `tree`
    mkdir -p "$trees" || return
    number=1
    until mkdir "$trees/jim-$1.$number" 2>/dev/null; do
        [ -e "$trees/jim-$1.$number" ] || return
        number=$((number + 1))
    done
    tree=$trees/jim-$1.$number
}

point_to() { # NAME: whoever starts something has the old tree or this one
    ln -s "$1" "$trees/.jim.$$" && mv -T "$trees/.jim.$$" "$trees/jim"
}

# Keepers, and batch systems of JIM's own, have their tree in their environment.
users_of() { # TREE
    grep -lsaxzF "PYTHONPATH=$(cd -P -- "$1" && pwd)" /proc/[0-9]*/environ | cut -d / -f 3
}

drop_unused() { # NAME...: remove the trees without users, but these
    for old in "$trees"/jim-*; do
        for kept; do [ "${old##*/}" = "$kept" ] && continue 2; done
        [ -n "$(users_of "$old")" ] || rm -rf -- "$old"
    done
}

# For packages, whose files dpkg and rpm replace in dist, where nothing runs.

# Alone: of a dpkg that was killed, such a script may still run. The files of dist lie on the same disk.
use_dist() ( # make a tree of the same files, by hard links, and let the link lead to it
    flock 9 || exit
    before=$(readlink "$trees/jim") || before=
    new_tree "$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$trees/dist/jim/__init__.py")" || exit
    cp -al "$trees/dist/." "$tree/" && point_to "${tree##*/}" || exit
    drop_unused "${tree##*/}" "$before" # a door may be in the one before just now
) 9<"$trees"

leave() { # before the package goes: keepers end, and batch jobs go on; whatever fails, the package shall go
    [ ! -e /etc/jim/site.toml ] || timeout 300 "$trees/jim/shell/jim" keeper --end --all || :
    for gatekeeper in gram:/usr/share/perl5/Globus/GRAM/JobManager/samgrid.pm ce:/usr/libexec/blahp/jim_status.sh \
        arc:/usr/share/arc/scan-jim-job; do
        [ ! -e "${gatekeeper#*:}" ] || echo "jim: a gatekeeper still calls JIM by ${gatekeeper#*:}, and fails: install JIM" \
            "again; if JIM is to go, run 'jim ${gatekeeper%%:*} unregister' then, and remove it once more"
    done
    rm -f "$trees/jim"
    drop_unused
    for left in "$trees"/jim-*; do
        [ ! -d "$left" ] || echo "jim: $left stays, because processes still run from it"
    done
}

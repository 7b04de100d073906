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

#!/bin/sh
# payload.sh PIECE...: the program of all pairs. It writes down what it sees, fails as asked, and leaves outputs.
# HERE has the ledger; a line of it: verb, grid job, local job, attempt, the words of the piece, and what it sees.
trap '' TERM
recovered=no piece=
for word do case $word in --from=7) recovered=yes ;; *) piece=$piece${piece:+ }$word ;; esac; done
content() { for file do [ ! -r "$file" ] || { read -r line <"$file" && printf %s "$line"; break; }; done; }
case $PWD in "$HERE"/scratch/*) place=scratch ;; "$HERE"/directory) place=directory ;; *) place=work ;; esac
seen="place=$place recovered=$recovered setup=${OF_SETUP-} inside=${INSIDE-} steps=${OF_STEPS-} each=${OF_EACH-}"
seen="$seen one=$(content one.txt "$JIM_INPUT/one.txt") two=$(content more/two.txt "$JIM_INPUT/more/two.txt") tool=$(command -v pairs-tool >/dev/null && pairs-tool)"
seen="$seen proxy=$(content "${X509_USER_PROXY-}") token=$(content "${BEARER_TOKEN_FILE-}") stdin=$(content /dev/stdin)"
note() {
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$JIM_GRID_JOB" "$JIM_LOCAL_JOB" "$JIM_ATTEMPT" "$piece" "$seen" >>"$HERE/ledger"
}
note begun
echo "piece $piece"
echo "attempt $JIM_ATTEMPT" >&2
for name in a.root b.root out.dat; do echo "$JIM_ATTEMPT $name" >"$name"; done
todo=${FIRST-}
step=$JIM_ATTEMPT
while [ "$step" -gt 1 ] && [ -n "$todo" ]; do todo=${todo#?} step=$((step - 1)); done
case $todo in
    3*) exit 3 ;;
    r*) echo 'recoverable --from=7' >"$JIM_RECOVERY"; exit 4 ;;
    w*) # until the warning comes
        trap 'echo "recoverable --from=7" >"$JIM_RECOVERY"; exit 4' TERM
        waited=0
        while [ "$waited" -lt 300 ]; do sleep 0.1; waited=$((waited + 1)); done
        exit 9 ;;
esac
case ${LAST-} in ?*) case $JIM_LOCAL_JOB in 0 | *.0) exit "$LAST" ;; esac ;; esac
note done

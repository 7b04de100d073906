#!/bin/sh
# Brings up a real Globus gatekeeper (Debian 12: GRAM5) on this one machine, with a CA of its own: as root, no systemd,
# 127.0.0.1 only. Safe to repeat: one that runs is left alone, any other is built anew. Takes seconds.
#
#   GRAM_LAB_HOURS   how long the client's proxy is good   (default 24)
# See common.sh for more. The grid user `/O=Grid/OU=jimlab/CN=Grid User` is mapped to LAB_USER, `CN=Other User` to an
# account `gridother`. An account `gridclient` has the proxies: `DIR/client COMMAND…` runs a command as it, such as
#     DIR/client globus-job-run localhost/jobmanager-fork /bin/echo hello
# X509_USER_PROXY=DIR/other/proxy.pem DIR/client … is the other user. The accounts are made, and never removed.
# DIR/gatekeeper starts the gatekeeper again where it was ended.
# Ports: 2119 gatekeeper; 40000 to 40499 job managers and clients.
lab=gram
. "${0%/*}/../common.sh"
hours=${GRAM_LAB_HOURS:-24}
client=gridclient
other=gridother
certificates=/etc/grid-security/certificates
base=/O=Grid/OU=jimlab
ports=40000,40499

runs() { [ -s "$dir/gatekeeper.pid" ] && lives "$(cat "$dir/gatekeeper.pid")"; }
if [ "$(cat "$dir/settings" 2>/dev/null)" = "$hours $other" ] && runs; then
    say 'is up already'
    exit 0
fi
"$here/down.sh"

# The package would start a gatekeeper of its own, which listens on every address.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    trap 'rm -f "$policy"' EXIT
fi
install_packages globus-gatekeeper globus-gram-job-manager globus-gram-job-manager-scripts \
    globus-gram-job-manager-fork globus-gram-job-manager-fork-setup-poll globus-gram-client-tools globus-proxy-utils \
    globus-gsi-cert-utils-progs globus-gass-copy-progs globus-gass-cache-program globus-gass-server-ez-progs \
    globus-common-progs globus-seg-job-manager libglobus-gram-client-dev openssl gcc libc6-dev pkg-config \
    make iproute2 python3-lxml python3-psutil python3-tenacity python3-rich

# Jobs must not run as root, and clients refuse a proxy that is not theirs: two accounts.
make_user
for name in "$client" "$other"; do
    getent passwd "$name" >/dev/null || useradd -m -s /bin/bash "$name"
done
mkdir -p "$dir/ca" "$dir/host" "$dir/user" "$dir/other" "$certificates"
chmod 755 "$labs" "$dir" "$certificates"
chmod 700 "$dir/ca" "$dir/host" "$dir/user" "$dir/other"
install -d -m 1777 /var/lib/globus/gram_job_state /var/log/globus

# WORDS...: what goes wrong here is told with its last words.
quietly() { "$@" >>"$dir/init.log" 2>&1 || { tail -n 3 "$dir/init.log" >&2; die "failed: $*"; }; }

quietly openssl req -x509 -newkey rsa:3072 -nodes -sha256 -days 3650 -subj "$base/CN=jimlab CA" \
    -keyout "$dir/ca/key.pem" -out "$dir/ca/certificate.pem" -addext basicConstraints=critical,CA:TRUE \
    -addext keyUsage=critical,keyCertSign,cRLSign
# Where everything looks: the job manager's scripts are told of no other place.
trusted=$certificates/$(openssl x509 -in "$dir/ca/certificate.pem" -noout -hash)
install -m 644 "$dir/ca/certificate.pem" "$trusted.0"
cat >"$trusted.signing_policy" <<POLICY
access_id_CA   X509    '$base/CN=jimlab CA'
pos_rights     globus  CA:sign
cond_subjects  globus  '"$base/*"'
POLICY
echo "$trusted.0 $trusted.signing_policy" >"$dir/trusted"

# NAME PLACE EXTENSION: a key, and its certificate by our CA.
sign() {
    printf 'basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature,keyEncipherment\n%s\n' "$3" >"$2/extensions"
    quietly openssl req -new -newkey rsa:2048 -nodes -sha256 -subj "$base/CN=$1" -keyout "$2/key.pem" -out "$2/request.pem"
    quietly openssl x509 -req -sha256 -days 730 -in "$2/request.pem" -extfile "$2/extensions" -CA "$dir/ca/certificate.pem" \
        -CAkey "$dir/ca/key.pem" -CAcreateserial -out "$2/certificate.pem"
    chmod 400 "$2/key.pem"
}
# The name that a client dials must be one of these.
sign localhost "$dir/host" "extendedKeyUsage=serverAuth,clientAuth
subjectAltName=DNS:localhost,DNS:$host"
sign 'Grid User' "$dir/user" extendedKeyUsage=clientAuth
sign 'Other User' "$dir/other" extendedKeyUsage=clientAuth
chown -R "$client:" "$dir/user" "$dir/other"
printf '"%s/CN=%s" %s\n' "$base" 'Grid User' "$user" "$base" 'Other User' "$other" >"$dir/grid-mapfile"

for name in loopback ahead; do cc -O2 -shared -fPIC -o "$dir/$name.so" "$here/$name.c" -ldl; done
# A client that sends what no command line client sends: signals.
# shellcheck disable=SC2046
cc -O2 -o "$dir/gram-signal" "$here/signal.c" $(pkg-config --cflags --libs globus-gram-client globus-common)

# Not X509_USER_CERT: it would win over the proxy, and the job manager would get a credential of years.
cat >"$dir/client" <<CLIENT
#!/bin/sh
# COMMAND...: run it as the lab's grid user.
[ "\$(id -un)" = $client ] || exec setpriv --reuid $client --regid $client --init-groups \\
    env -i PATH=$dir:/usr/bin:/bin HOME=/home/$client LOGNAME=$client USER=$client LANG=C.UTF-8 \\
    X509_USER_PROXY="\${X509_USER_PROXY:-$dir/user/proxy.pem}" \\
    GLOBUS_HOSTNAME=localhost GLOBUS_TCP_PORT_RANGE=$ports LD_PRELOAD=$dir/loopback.so "\$0" "\$@"
cd
exec "\$@"
CLIENT
chmod 755 "$dir/client"
for name in user other; do
    X509_USER_PROXY=$dir/$name/proxy.pem quietly "$dir/client" grid-proxy-init -q -bits 2048 -valid "$hours:00" \
        -cert "$dir/$name/certificate.pem" -key "$dir/$name/key.pem" </dev/null
done

for name in jobmanager-fork jobmanager; do quietly globus-gatekeeper-admin -e jobmanager-fork-poll -n "$name"; done
cat >"$dir/gatekeeper" <<GATEKEEPER
#!/bin/sh
# Start the gatekeeper, with nothing of the caller's environment. JIM_LAB_AHEAD: seconds that its time is ahead (ahead.c).
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/ LANG=C.UTF-8 \\
    GLOBUS_HOSTNAME=localhost GLOBUS_TCP_PORT_RANGE=$ports LD_PRELOAD="$dir/loopback.so $dir/ahead.so" JIM_LAB="$dir" \\
    JIM_LAB_AHEAD="\${JIM_LAB_AHEAD:-0}" setsid /usr/sbin/globus-gatekeeper -p 2119 -pidfile "$dir/gatekeeper.pid" -l "$dir/gatekeeper.log" \\
    -gridmap "$dir/grid-mapfile" -x509_cert_dir "$certificates" -x509_user_cert "$dir/host/certificate.pem" \\
    -x509_user_key "$dir/host/key.pem" </dev/null >/dev/null 2>>"$dir/init.log"
GATEKEEPER
chmod 755 "$dir/gatekeeper"
"$dir/gatekeeper" || die "the gatekeeper does not start (has another one port 2119?); see $dir/gatekeeper.log and $dir/init.log"
wait_for 10 'the gatekeeper' "$dir/client" globusrun -a -r localhost/jobmanager-fork
echo "$hours $other" >"$dir/settings"
say "is up; clients: $dir/client globus-job-run localhost/jobmanager-fork /bin/echo hello"

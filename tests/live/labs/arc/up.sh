#!/bin/sh
# Brings up a real ARC CE (Debian 12: A-REX 6.17 with its REST interface) on this one machine, with a CA of its own: as
# root, no systemd, 127.0.0.1 only. Its back-end is `jim`, which `jim arc register` installs. Safe to repeat: a healthy one
# is left alone, any other is built anew.
#
# See common.sh for more. Port: 24443. The grid user `/DC=org/DC=jimlab/CN=Grid User` is mapped to LAB_USER. An account
# `arcclient` has the proxy: `DIR/client COMMAND…` runs a command as it, such as
#     DIR/client arcsub -C https://localhost:24443/arex -T arcrest -Q NONE job.xrsl
# DIR/arex starts A-REX again where it was ended. `ARC_CONFIG=DIR/arc.conf` is the configuration.
lab=arc
. "${0%/*}/../common.sh"
client=arcclient
port=24443
url=https://localhost:$port/arex
base=/DC=org/DC=jimlab
marked=JIM_LAB=$dir

answers() {
    curl -s -o /dev/null --cacert "$dir/ca/certificate.pem" --cert "$dir/user/certificate.pem" --key "$dir/user/key.pem" \
        "$url/rest/1.0/jobs"
}
if [ "$(cat "$dir/settings" 2>/dev/null)" = "$client" ] && answers && lives "$(cat "$dir/run/arex.pid")"; then
    say 'is up already'
    exit 0
fi
"$here/down.sh"

# The packages would start services of their own, which listen on every address.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    trap 'rm -f "$policy"' EXIT
fi
install_packages nordugrid-arc-arex nordugrid-arc-client nordugrid-arc-plugins-needed nordugrid-arc-plugins-arcrest \
    nordugrid-arc-arcctl nordugrid-arc-arcctl-service openssl curl
make_user
getent passwd "$client" >/dev/null || useradd -m -s /bin/bash "$client"
mkdir -p "$dir/ca" "$dir/host" "$dir/user"
for each in control session run log tmp runtime; do mkdir -p "$dir/$each"; done
chmod 755 "$labs" "$dir"
chmod 1777 "$dir/session" "$dir/tmp"

# WORDS...: what goes wrong here is told with its last words.
quietly() { "$@" >>"$dir/log/init" 2>&1 || { tail -n 3 "$dir/log/init" >&2; die "failed: $*"; }; }

quietly openssl req -x509 -newkey rsa:3072 -nodes -sha256 -days 3650 -subj "$base/CN=jimlab CA" \
    -keyout "$dir/ca/key.pem" -out "$dir/ca/certificate.pem" -addext basicConstraints=critical,CA:TRUE \
    -addext keyUsage=critical,keyCertSign,cRLSign
trusted=$dir/ca/$(openssl x509 -in "$dir/ca/certificate.pem" -noout -subject_hash)
cp "$dir/ca/certificate.pem" "$trusted.0"
printf "access_id_CA X509 '%s'\npos_rights globus CA:sign\ncond_subjects globus '\"%s/*\"'\n" \
    "$base/CN=jimlab CA" "$base" >"$trusted.signing_policy"

# NAME PLACE EXTENSION: a key, and its certificate by our CA.
sign() {
    printf 'basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature,keyEncipherment\n%s\n' "$3" >"$2/extensions"
    quietly openssl req -new -newkey rsa:2048 -nodes -sha256 -subj "$base/CN=$1" -keyout "$2/key.pem" -out "$2/request.pem"
    quietly openssl x509 -req -sha256 -days 730 -in "$2/request.pem" -extfile "$2/extensions" -CA "$dir/ca/certificate.pem" \
        -CAkey "$dir/ca/key.pem" -CAcreateserial -out "$2/certificate.pem"
    chmod 400 "$2/key.pem"
}
sign localhost "$dir/host" "extendedKeyUsage=serverAuth,clientAuth
subjectAltName=DNS:localhost"
sign 'Grid User' "$dir/user" extendedKeyUsage=clientAuth
# Clients refuse a key that is not theirs.
chown -R "$client:" "$dir/user"
chmod 700 "$dir/user" "$dir/host"
chmod 600 "$dir/ca/key.pem"
echo "\"$base/CN=Grid User\"" >"$dir/users"

cat >"$dir/arc.conf" <<CONF
[common]
hostname = localhost
x509_host_key = $dir/host/key.pem
x509_host_cert = $dir/host/certificate.pem
x509_cert_dir = $dir/ca

[authgroup:lab]
file = $dir/users

[mapping]
map_to_user = lab $user:$user

[lrms]
lrms = jim

[arex]
controldir = $dir/control
sessiondir = $dir/session
runtimedir = $dir/runtime
pidfile = $dir/run/arex.pid
logfile = $dir/log/arex
joblog = $dir/log/jobs
helperlog = $dir/log/helper
tmpdir = $dir/tmp
loglevel = 4
wakeupperiod = 10

[arex/ws]
wsurl = $url
logfile = $dir/log/rest
pidfile = $dir/run/rest.pid

[arex/ws/jobs]
allowaccess = lab

[infosys]
logfile = $dir/log/information
loglevel = 4

[infosys/glue2]

[infosys/cluster]

[queue:jim]
CONF
cat >"$dir/client" <<CLIENT
#!/bin/sh
exec runuser -u $client -- env -i HOME="\$(getent passwd $client | cut -d: -f6)" PATH=/usr/bin:/bin X509_CERT_DIR=$dir/ca \\
    X509_USER_CERT=$dir/user/certificate.pem X509_USER_KEY=$dir/user/key.pem X509_USER_PROXY=$dir/user/proxy.pem "\$@"
CLIENT
chmod 755 "$dir/client"
chmod 711 "$dir"
quietly "$dir/client" arcproxy -P "$dir/user/proxy.pem" -c validityPeriod=240h

# The stock starter of the REST interface listens on every address.
sed 's|<tcp:Listen><tcp:Port>|<tcp:Listen><tcp:Interface>127.0.0.1</tcp:Interface><tcp:Port>|' \
    /usr/share/arc/arc-arex-ws-start >"$dir/run/rest-start"
chmod 755 "$dir/run/rest-start"
# It would make Diffie-Hellman parameters of its own, for minutes.
(umask 077; openssl genpkey -genparam -algorithm DH -pkeyopt group:ffdhe3072 2>/dev/null |
    openssl dhparam -out "$dir/control/dhparam.pem" 2>/dev/null) || true
cat >"$dir/arex" <<AREX
#!/bin/sh
exec env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
    ARC_CONFIG=$dir/arc.conf $marked setsid /usr/share/arc/arc-arex-start </dev/null >>$dir/log/start 2>&1
AREX
chmod 755 "$dir/arex"
"$dir/arex" &
wait_for 60 A-REX test -s "$dir/run/arex.pid"
start_clean HOME=/root LANG=C.UTF-8 ARC_CONFIG="$dir/arc.conf" "$marked" setsid "$dir/run/rest-start" \
    >>"$dir/log/start" 2>&1 &
wait_for 60 'the REST interface' answers
echo "$client" >"$dir/settings"
say "is up: $(dpkg-query -W -f '${Version}' nordugrid-arc-arex), $url"

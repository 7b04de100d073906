"""Who sent a grid job, as proxies made by openssl say it."""

from __future__ import annotations

import pytest

from jim.workdir.senders import claims
from tests.support.certificates import OLD, OLD_PROXY, PROXY

OWNER = "/DC=org/DC=example/O=People/CN=José Ramón 17"
FQANS = ["/dteam/prod/Role=production/Capability=NULL", "/dteam/Role=NULL/Capability=NULL"]
END = b"-----END CERTIFICATE-----\n"
BARE, CERTIFICATE = (each + END for each in PROXY.split(END)[:2])


@pytest.mark.parametrize(
    ("content", "dn", "fqans"),
    [
        (PROXY, OWNER, FQANS),
        (BARE, OWNER, FQANS),  # without the certificate that signed it: the proxy names its owner
        (OLD_PROXY, OWNER, []),
        (CERTIFICATE, OWNER, []),
        (OLD, "/CN=jim", []),  # issued by itself, and no proxy
        (b"", "", []),
        (b"-----BEGIN CERTIFICATE-----\nMIIBNTCB\n" + END, "", []),
        (b"-----BEGIN CERTIFICATE-----\n\n" + END, "", []),
    ],
)
def test_a_proxy_speaks_for_its_owner(content, dn, fqans):
    assert claims(content) == {"dn": dn, "fqans": fqans}


def test_a_proxy_that_is_cut_anywhere_or_has_any_byte_wrong_raises_nothing():
    import base64

    head, tail = b"-----BEGIN CERTIFICATE-----\n", b"\n-----END CERTIFICATE-----\n"
    der = base64.b64decode(BARE.removeprefix(head).removesuffix(END))
    for at in range(0, len(der), 3):
        claims(head + base64.b64encode(der[:at]) + tail)
        claims(head + base64.b64encode(der[:at] + b"\xff" + der[at + 1 :]) + tail)

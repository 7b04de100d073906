"""Reads from a proxy who sent a grid job: the subject of its owner, and the groups and roles in a VO.

JIM verifies no signature: whatever a proxy says is a claim. Also a proxy that came through a gatekeeper may be one that
the sender made, with any name in it: a gatekeeper authenticates connections, and passes on what comes over them.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from jim.workdir.credentials import BEFORE_VALIDITY, VERSION, certificates, element

LONGEST, MOST = 1000, 100  # characters of a name, and number of FQANs
# Object identifiers as DER has them: what marks a proxy (RFC 3820, and its draft), and the attributes of VOMS.
PROXY = bytes.fromhex("06082b0601050507010e"), bytes.fromhex("060a2b060104019b5001815e")
OLD_PROXY = "proxy", "limited proxy"  # the last name of a proxy before there were such marks
FQANS = bytes.fromhex("060a2b06010401be45646404")
OCTETS, WIDE, SEQUENCE = 0x04, 0x1E, 0x30
NAMES = {
    "550403": "CN",
    "550405": "serialNumber",
    "550406": "C",
    "550407": "L",
    "550408": "ST",
    "55040a": "O",
    "55040b": "OU",
    "0992268993f22c640101": "UID",
    "0992268993f22c640119": "DC",
    "2a864886f70d010901": "emailAddress",
}


class Certificate(NamedTuple):
    """A certificate of a chain, with its names as they are written in it."""

    der: bytes
    issuer: bytes
    subject: bytes

    @property
    def is_proxy(self) -> bool:
        """Tell whether it speaks for its issuer."""
        if not self.subject.startswith(self.issuer):
            return False
        return any(mark in self.der for mark in PROXY) or _pairs(self.subject)[-1:][0][1] in OLD_PROXY


def claims(content: bytes) -> dict[str, object]:
    """Return the name of a proxy's owner, and the FQANs; empty ones where the proxy does not say them."""
    chain: list[Certificate] = []
    # Also an error of base64. The door has refused what is not a proxy at all; no more depends on the rest.
    with suppress(ValueError, IndexError):
        chain += [_certificate(base64.b64decode(each)) for each in certificates(content)]
    dn, fqans = "", list[str]()
    with suppress(ValueError, IndexError):
        dn = _words(_owner(chain))
    for each in chain:
        with suppress(ValueError, IndexError):
            fqans += _fqans(each.der)
    return {"dn": dn[:LONGEST], "fqans": fqans[:MOST]}


def _inside(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the elements that some content consists of, by tag and content."""
    at = 0
    while at < len(der):
        tag, start, at = element(der, at)
        yield tag, der[start:at]


def _certificate(der: bytes) -> Certificate:
    (_, whole), *_ = _inside(der)
    (_, signed), *_ = _inside(whole)
    parts = [*_inside(signed)]
    before = BEFORE_VALIDITY + (parts[0][0] == VERSION)  # the issuer stands before the validity, the subject behind
    return Certificate(der, parts[before - 1][1], parts[before + 1][1])


def _owner(chain: list[Certificate]) -> bytes:
    """Return the name for which the proxies at the beginning of a chain speak."""
    name = b""
    for each in chain:
        if not each.is_proxy:
            return name or each.subject
        name = each.issuer
    return name


def _pairs(name: bytes) -> list[tuple[str, str]]:
    """Return the parts of a name: what each is, and its text."""
    parts = [[*_inside(pair)] for _, several in _inside(name) for _, pair in _inside(several)]
    return [(NAMES.get(kind.hex(), "?"), _text(tag, text)) for (_, kind), (tag, text) in parts]


def _words(name: bytes) -> str:
    """Return a name as grids write it: /C=…/O=…/CN=… for example."""
    return "".join(f"/{kind}={text}" for kind, text in _pairs(name))


def _text(tag: int, text: bytes) -> str:
    words = text.decode("utf-16-be" if tag == WIDE else "utf-8", errors="replace")
    return "".join(each if each.isprintable() else "?" for each in words)


def _fqans(der: bytes) -> list[str]:
    """Return the FQANs of an attribute certificate inside a certificate: a set of values, each after who issued it."""
    at = der.find(FQANS)
    if at < 0:
        return []
    _, start, end = element(der, at + len(FQANS))
    found = [part for _, value in _inside(der[start:end]) for part in _inside(value)]
    values = [each for tag, content in found if tag == SEQUENCE for each in _inside(content)]
    return [_text(tag, text)[:LONGEST] for tag, text in values if tag == OCTETS]

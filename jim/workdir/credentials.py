"""The X.509 proxy or token of a grid job: a file of the account, which JIM passes to the payload.

JIM passes it again after each renewal, and never stores its content in the database or in a tar. A copy lies in the
work directory only until the grid job has ended, readable only for the account.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jim.errors import BadRequest, JimError
from jim.files import held, read_regular, read_whole, replace, replace_durably
from jim.site.realm import OWN, Opener

KINDS = {"proxy": "X.509 proxy", "token": "token"}  # by the attribute of a request that names the file
OWN_COPY = re.compile(rf"\.?({'|'.join(KINDS)})(\..*)?")  # in the directory of a grid job, with unfinished ones
LONGEST = 256 * 1024
PAUSES = (0.1, 0.4, 1.5)  # seconds; while a gatekeeper renews a file
Reading = Callable[[str, str, Opener], bytes]  # of a kind and a path
TOKEN = re.compile(rb"[!-~]+\s*")
BEGIN, END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"
SEQUENCE, VERSION, SHORT_YEAR, LONG_YEAR = 0x30, 0xA0, 0x17, 0x18  # tags of ASN.1
BEFORE_VALIDITY = 3  # serial number, algorithm and issuer
LAST_SECOND = 253_402_300_799.0  # of the year 9999, the last one of calendars


class NotReady(BadRequest):
    """A credential that is empty or cannot be read now: its gatekeeper may be about to renew it."""


def paths_in(request: Mapping[str, Any]) -> dict[str, str]:
    """Return the credential files that a request names, by kind."""
    return {kind: request[kind] for kind in KINDS if request.get(kind)}


def content_of(kind: str, path: str, opener: Opener = OWN) -> bytes:
    """Read a credential, as its sender may; refuse an empty or unreadable file."""
    try:
        content = read_whole(opener.open(path, kind), LONGEST, path)
    except OSError as error:
        reason = error.strerror or error
        raise NotReady(f"cannot read the {KINDS[kind]} {path}: {reason}", kind) from error
    except BadRequest:
        raise
    except JimError as error:
        raise BadRequest(str(error), kind) from error
    if not content.strip():
        raise NotReady(f"{path} is empty", kind)
    if kind == "token" and not TOKEN.fullmatch(content):  # so no other file is ever handed over as one
        raise BadRequest(f"{path} is no token: expected one line of printable letters without blanks", kind)
    return content


def content_soon(kind: str, path: str, opener: Opener = OWN) -> bytes:
    """Read a credential as `content_of` does, but wait some seconds for a file that is unreadable now.

    A gatekeeper that renews a credential may own the file itself for an instant, or leave it empty for one.
    """
    for pause in PAUSES:
        try:
            return content_of(kind, path, opener)
        except NotReady as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise
        time.sleep(pause)
    return content_of(kind, path, opener)


def usable(kind: str, path: str, now: float, opener: Opener = OWN, read: Reading = content_of) -> bytes:
    """Read a credential, as its sender may; refuse one that no payload could use."""
    content = read(kind, path, opener)
    end = ends(kind, content)
    if end is not None and end <= now:
        raise BadRequest(f"the {KINDS[kind]} {path} expired at {shown_time(end)}; renew it and try again", kind)
    return content


def ends(kind: str, content: bytes) -> float | None:
    """Return when a credential expires, in seconds since 1970; None if it does not say."""
    if kind == "token":
        return _end_of_token(content)
    try:
        found = [_end_of(base64.b64decode(each)) for each in certificates(content)]
    except (IndexError, ValueError, binascii.Error) as error:
        raise BadRequest(f"a certificate in it is unreadable: {error}", kind) from error
    if not found:
        raise BadRequest("not an X.509 proxy: it has no certificate", kind)
    return min(found)  # the first of the proxy and its chain to expire ends them all


def certificates(content: bytes) -> Iterator[bytes]:
    """Yield the texts of certificates. A pattern would look through all that follows, at each begin without an end."""
    for each in content.split(BEGIN)[1:]:
        text, end, _ = each.partition(END)
        if text and end:
            yield text


def shown_time(end: float) -> str:
    """Return a time as JIM writes it everywhere."""
    return datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _end_of_token(content: bytes) -> float | None:
    """Read the end of a JSON web token; other tokens do not show theirs."""
    part = content.strip().split(b".")[1:2]
    # Also an error of base64 or JSON.
    with suppress(ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError):
        end = float(json.loads(base64.urlsafe_b64decode(part[0] + b"=" * (-len(part[0]) % 4)))["exp"])
        return min(max(0.0, end), LAST_SECOND)
    return None


def _end_of(certificate: bytes) -> float:
    """Read when a certificate expires: the second time of its validity, as in RFC 5280."""
    _, start, _ = element(certificate, 0)
    _, start, _ = element(certificate, start)
    parts = list(elements(certificate, start, BEFORE_VALIDITY + 2))
    validity = parts[BEFORE_VALIDITY + (parts[0][0] == VERSION)]
    if validity[0] != SEQUENCE:
        raise ValueError("there is no validity in its place")
    *_, (tag, first, last) = elements(certificate, validity[1], 2)
    if tag not in (SHORT_YEAR, LONG_YEAR):
        raise ValueError("there is no time in its place")
    text = certificate[first:last].decode("ascii")
    century = "" if tag == LONG_YEAR else "19" if text[:2] >= "50" else "20"
    return datetime.strptime(century + text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp()


def elements(der: bytes, at: int, count: int) -> Iterator[tuple[int, int, int]]:
    """Yield the first elements from a place on, each as `element` returns them, but for the end."""
    for _ in range(count):
        tag, start, at = element(der, at)
        yield tag, start, at


def element(der: bytes, at: int) -> tuple[int, int, int]:
    """Return the tag of an element, and the begin and end of its content."""
    tag, length, start = der[at], der[at + 1], at + 2
    if length & 0x80:
        count = length & 0x7F
        length, start = int.from_bytes(der[start : start + count]), start + count
    if start + length > len(der):
        raise ValueError("it is cut short")
    return tag, start, start + length


# In the work directory


def hand_over(
    place: Path, request: Mapping[str, Any], now: float, opener: Opener = OWN, read: Reading = content_of
) -> None:
    """Copy the credentials that a request names into its grid job's directory, and remove all others."""
    take_back(place, request)
    for kind, path in paths_in(request).items():
        pass_on(place, kind, usable(kind, path, now, opener, read))


def take_back(place: Path, request: Mapping[str, Any]) -> None:
    """Remove copies of credentials that the request no longer names."""
    no_more = KINDS.keys() - paths_in(request).keys()
    with suppress(FileNotFoundError), held(place) as here:  # it may not be made yet
        for kind in no_more:
            if (here / kind).exists():
                replace(here / f".{kind}.was", b"")  # so that copies of wrappers are looked for in the end
            (here / kind).unlink(missing_ok=True)


def pass_on(place: Path, kind: str, content: bytes) -> bool:
    """Copy a credential for wrappers; tell whether it differs from the last copy."""
    with held(place) as here:
        with suppress(FileNotFoundError, JimError):  # no file, or what a payload has put in its place
            if read_regular(here / kind, LONGEST) == content:
                return False
        replace_durably(here / kind, content, 0o600)
    return True


def expired(place: Path, now: float) -> str:
    """Return which credential of a grid job has expired, so that no attempt should start; empty if none has."""
    for kind in KINDS:
        with suppress(OSError, JimError):
            end = ends(kind, read_regular(place / kind, LONGEST))
            if end is not None and end <= now:
                return f"its {KINDS[kind]} expired at {shown_time(end)}"
    return ""


def remove(place: Path) -> None:
    """Remove all copies of a grid job's credentials, also those of killed wrappers and keepers."""
    with held(place) as here:
        own = [name for name in os.listdir(here) if OWN_COPY.fullmatch(name)]  # noqa: PTH208 - names suffice
        if not own:  # wrappers copy these, and these are removed last: most grid jobs have none
            return
        for submission in here.glob("s*"):
            with suppress(NotADirectoryError), held(submission) as there:
                for each in (one for kind in KINDS for dot in ("", ".") for one in there.glob(f"{dot}{kind}.*")):
                    each.unlink(missing_ok=True)
        for name in own:
            (here / name).unlink(missing_ok=True)


def now() -> float:
    """Return the time that decides whether credentials have expired."""
    return time.time()

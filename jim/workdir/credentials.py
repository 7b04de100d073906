"""A job's X.509 proxy or token: a file of the account, handed to the payload, and again when it has been renewed.

What is in it is never stored: neither in the database nor in a tar, and in the work directory only until the grid job
has ended, where nobody but the account can read it.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jim.errors import BadRequest, JimError
from jim.files import read_regular, replace_durably, resolved

KINDS = {"proxy": "X.509 proxy", "token": "token"}  # by the attribute of a request, which names the file
LONGEST = 256 * 1024
CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
SEQUENCE, VERSION, SHORT_YEAR, LONG_YEAR = 0x30, 0xA0, 0x17, 0x18  # tags of ASN.1
BEFORE_VALIDITY = 3  # serial number, algorithm and issuer
LAST_SECOND = 253_402_300_799.0  # of the year 9999: no calendar goes further


def paths_in(request: Mapping[str, Any]) -> dict[str, str]:
    """Give the files that a request names, by their kind."""
    return {kind: request[kind] for kind in KINDS if request.get(kind)}


def usable(kind: str, path: str, now: float) -> bytes:
    """Read a credential; refuse one that would be of no use to a payload."""
    content = _read(kind, path)
    end = ends(kind, content)
    if end is not None and end <= now:
        raise BadRequest(f"the {KINDS[kind]} {path} has expired at {shown_time(end)}; renew it and try again", kind)
    return content


def _read(kind: str, path: str) -> bytes:
    try:
        content = read_regular(resolved(Path(path)), LONGEST)
    except OSError as error:
        reason = error.strerror or error
        raise BadRequest(f"cannot read the {KINDS[kind]} {path}: {reason}", kind) from error
    except JimError as error:
        raise BadRequest(str(error), kind) from error
    if not content.strip():
        raise BadRequest(f"{path} is empty", kind)
    return content


def ends(kind: str, content: bytes) -> float | None:
    """Tell when a credential expires, in seconds since 1970; None where it does not say."""
    if kind == "token":
        return _end_of_token(content)
    try:
        found = [_end_of(base64.b64decode(each)) for each in CERTIFICATE.findall(content)]
    except (IndexError, ValueError, binascii.Error) as error:
        raise BadRequest(f"a certificate in it cannot be read: {error}", kind) from error
    if not found:
        raise BadRequest("no X.509 proxy: there is no certificate in it", kind)
    return min(found)  # of a proxy and those that it stands on, the first to expire ends them all


def shown_time(end: float) -> str:
    """Tell a time as it is told everywhere."""
    return datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _end_of_token(content: bytes) -> float | None:
    """Read the end of a JSON web token; other tokens do not show theirs."""
    part = content.strip().split(b".")[1:2]
    with suppress(
        ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError
    ):  # also of base64 and JSON
        end = float(json.loads(base64.urlsafe_b64decode(part[0] + b"=" * (-len(part[0]) % 4)))["exp"])
        return min(max(0.0, end), LAST_SECOND)
    return None


def _end_of(certificate: bytes) -> float:
    """Read when a certificate expires: the second time of its validity, as RFC 5280 has it."""
    _, start, _ = _element(certificate, 0)
    _, start, _ = _element(certificate, start)
    parts = list(_elements(certificate, start, BEFORE_VALIDITY + 2))
    validity = parts[BEFORE_VALIDITY + (parts[0][0] == VERSION)]
    if validity[0] != SEQUENCE:
        raise ValueError("no validity where it should be")
    *_, (tag, first, last) = _elements(certificate, validity[1], 2)
    if tag not in (SHORT_YEAR, LONG_YEAR):
        raise ValueError("no time where it should be")
    text = certificate[first:last].decode("ascii")
    century = "" if tag == LONG_YEAR else "19" if text[:2] >= "50" else "20"
    return datetime.strptime(century + text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp()


def _elements(der: bytes, at: int, count: int) -> Iterator[tuple[int, int, int]]:
    for _ in range(count):
        tag, start, at = _element(der, at)
        yield tag, start, at


def _element(der: bytes, at: int) -> tuple[int, int, int]:
    """Give the tag of an element, and where its content begins and ends."""
    tag, length, start = der[at], der[at + 1], at + 2
    if length & 0x80:
        count = length & 0x7F
        length, start = int.from_bytes(der[start : start + count]), start + count
    if start + length > len(der):
        raise ValueError("it is cut short")
    return tag, start, start + length


# In the work directory


def hand_over(place: Path, request: Mapping[str, Any], now: float) -> None:
    """Put what a request names into its grid job's directory, for its wrappers, and nothing else."""
    take_back(place, request)
    for kind, path in paths_in(request).items():
        pass_on(place, kind, usable(kind, path, now))


def take_back(place: Path, request: Mapping[str, Any]) -> None:
    """Leave nothing for wrappers that a request has named once, and names no more."""
    for kind in KINDS.keys() - paths_in(request).keys():
        (place / kind).unlink(missing_ok=True)


def pass_on(place: Path, kind: str, content: bytes) -> bool:
    """Let wrappers have a credential; tell whether it is another one than before."""
    with suppress(FileNotFoundError):
        if (place / kind).read_bytes() == content:
            return False
    replace_durably(place / kind, content, 0o600)
    return True


def expired(place: Path, now: float) -> str:
    """Say which credential of a grid job has expired, so that nothing of it should start; empty, if none has."""
    for kind in KINDS:
        with suppress(OSError, BadRequest):
            end = ends(kind, (place / kind).read_bytes())
            if end is not None and end <= now:
                return f"its {KINDS[kind]} has expired at {shown_time(end)}"
    return ""


def remove(place: Path) -> None:
    """Leave nothing of a grid job's credentials: what wrappers, or keepers, that were killed have left neither."""
    for kind in KINDS:
        for pattern in (kind, f".{kind}.*", f"s*/{kind}.*", f"s*/.{kind}.*"):
            for each in place.glob(pattern):
                each.unlink(missing_ok=True)


def now() -> float:
    """Tell the time by which credentials expire."""
    return time.time()

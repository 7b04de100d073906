"""A site that is drained takes no new grid jobs for a while. What it has taken in goes on, retries included."""

from __future__ import annotations

import json
import math
import re
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from jim.errors import BadRequest, BadSite, JimError
from jim.files import read_regular, replace_durably
from jim.site.file import Site

LONGEST = 4096
LONGEST_REASON = 500
UNITS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class Drained(JimError):
    """A new grid job that the site does not take just now."""


class Drain(NamedTuple):
    """Since when the site takes no new grid jobs, until when, and why; times are seconds since 1970."""

    since: float
    until: float = math.inf
    reason: str = ""

    def words(self) -> str:
        """Return one sentence that says since when, why and until when."""
        again = "" if math.isinf(self.until) else f"; it takes new ones again from {_utc(self.until)} on"
        reason = f": {self.reason}" if self.reason else ""
        return f"the site takes no new grid jobs since {_utc(self.since)}{reason}{again}; what it has taken in goes on"


def require_open(site: Site) -> None:
    """Refuse a new grid job while the site is drained."""
    drain = drained(site)
    if drain:
        raise Drained(drain.words())


def drained(site: Site) -> Drain | None:
    """Return the drain that applies just now."""
    try:
        told = json.loads(read_regular(site.drain, LONGEST))
        until = math.inf if told["until"] is None else float(told["until"])
        drain = Drain(float(told["since"]), until, str(told["reason"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError, JimError) as error:
        odd = f"the site may be drained: {site.drain} is there and cannot be read: {error}"
        raise Drained(f"{odd}; `jim site undrain` removes it") from error
    return drain if time.time() < drain.until else None


def in_words(site: Site) -> str:
    """Return why, since when and until when the site takes no new grid jobs; empty while it takes them."""
    try:
        drain = drained(site)
    except Drained as error:
        return str(error)
    return drain.words() if drain else ""


def drain(site: Site, until: str = "", reason: str = "") -> Drain:
    """Take no new grid jobs from now on."""
    if len(reason) > LONGEST_REASON or not reason.isprintable():
        raise BadRequest(f"expected one line of at most {LONGEST_REASON} characters", "reason")
    now = time.time()
    made = Drain(now, _time(until, now) if until else math.inf, reason)
    told = {"since": now, "until": None if math.isinf(made.until) else made.until, "reason": reason}
    try:
        replace_durably(site.drain, json.dumps(told).encode(), 0o644)
    except OSError as error:
        raise _not_allowed(site, error) from error
    return made


def undrain(site: Site) -> bool:
    """Take new grid jobs again; tell whether the site was drained."""
    try:
        site.drain.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _not_allowed(site, error) from error
    return True


def _not_allowed(site: Site, error: OSError) -> BadSite:
    who = "; root drains a site of several accounts" if site.managed else ""
    return BadSite(f"{site.drain} cannot be changed: {error.strerror}{who}")


def _time(text: str, now: float) -> float:
    """Read a time to come, or how long it is until then."""
    span = re.fullmatch(r"(\d{1,6})([mhdw])", text, re.ASCII)
    then = now + int(span[1]) * UNITS[span[2]] if span else None
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
        then = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if then is None:
        raise BadRequest(f"{text!r} is no time: write 2026-01-31T12:00Z, or how long: 30m, 8h, 2d", "until")
    if then <= now:
        raise BadRequest(f"{_utc(then)} is over already", "until")
    return then


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))

"""What an administrator tells all doors of a site by a file: since when it holds, until when, and why."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from jim.errors import LONGEST_REASON, BadRequest, BadSite, require_line
from jim.files import locked, replace_durably
from jim.site.file import Site

LAST = 253_402_300_799  # the end of the year 9999
UNITS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class Notice(NamedTuple):
    """Since when something holds, until when, and why; times are seconds since 1970."""

    since: float
    until: float = math.inf
    reason: str = ""

    def told(self) -> dict[str, Any]:
        """Return the notice as a file has it."""
        return {"since": self.since, "until": None if math.isinf(self.until) else self.until, "reason": self.reason}

    def brief(self) -> str:
        """Return until when, and why."""
        until = "" if math.isinf(self.until) else f"until {utc(self.until)}"
        return "; ".join(filter(None, (until, self.reason)))

    def words(self, what: str, again: str) -> str:
        """Return one sentence that says what holds, since when, why, and what follows from when on."""
        reason = f": {self.reason}" if self.reason else ""
        then = "" if math.isinf(self.until) else f"; {again} from {utc(self.until)} on"
        return f"{what} since {utc(self.since)}{reason}{then}; what it has taken in goes on"


def new(until: str, reason: str) -> Notice:
    """Return a notice that holds from now on, until a time that a person wrote; empty: for good."""
    now = time.time()
    return Notice(now, _time(until, now) if until else math.inf, require_line(reason))


def read(told: Any) -> Notice:
    """Read a notice as a file has it; raise ValueError, TypeError or KeyError if it makes no sense."""
    until = math.inf if told["until"] is None else _seconds(told["until"])
    reason = str(told["reason"]).encode(errors="replace").decode()
    return Notice(_seconds(told["since"]), until, reason[:LONGEST_REASON])


def _seconds(told: Any) -> float:
    """Read a time; refuse one that no calendar has."""
    with suppress(OverflowError):
        if 0 <= float(told) <= LAST:
            return float(told)
    raise ValueError("a time is in no calendar")


def holds(notice: Notice) -> bool:
    """Tell whether a notice holds just now."""
    return time.time() < notice.until


def write(site: Site, file: Path, content: Any, mode: int = 0o644) -> None:
    """Write a file that all accounts may read, unless the mode says otherwise."""
    try:
        replace_durably(file, json.dumps(content).encode(), mode)
    except OSError as error:
        raise not_allowed(site, file, error) from error


@contextmanager
def alone(site: Site, file: Path) -> Iterator[None]:
    """Let nobody else change such a file meanwhile.

    The lock is a file of its own that only its owner can open: whoever may read a file or a directory may also lock it.
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(file.with_name(".notices.lock" if site.managed else "notices.lock")))
        except OSError as error:
            raise not_allowed(site, file, error) from error
        yield


def not_allowed(site: Site, file: Path, error: OSError) -> BadSite:
    """Return what to tell a person who may not change such a file."""
    who = "; on a site of several accounts, only root may do this" if site.managed else ""
    return BadSite(f"{file} cannot be changed: {error.strerror}{who}")


def utc(seconds: float) -> str:
    """Return a time as people read it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _time(text: str, now: float) -> float:
    """Read a time to come, or how long it is until then."""
    span = re.fullmatch(r"(\d{1,6})([mhdw])", text, re.ASCII)
    then = now + int(span[1]) * UNITS[span[2]] if span else None
    with suppress(ValueError):
        then = datetime.fromisoformat(text).timestamp()  # without Z: by the clock of whoever types it
    if then is None or then > LAST:
        raise BadRequest(f"{text!r} is no time: write 2026-01-31T12:00Z, or how long: 30m, 8h, 2d", "until")
    if then <= now:
        raise BadRequest(f"{utc(then)} is over already", "until")
    return then

"""Three clocks: one for people, one that nobody can set, and one for due times that other processes read."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path


class Clock:
    """The time. Ages and waits use `boot`, which neither jumps nor stops; people read `utc`.

    Stored due times use `steady`: seconds since 1970, counted on by `boot`. A jump of the clock therefore makes no due
    time come earlier or later, until the keeper follows the jump (jim/keeper/clock_jumps.py).
    """

    _followed: float | None = None

    def boot(self) -> float:
        """Return the seconds since this machine was started, including sleep."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def boot_id(self) -> str:
        """Return the id of this run of the machine; seconds since boot of another run mean nothing."""
        return _boot_id()

    def booted(self) -> str:
        """Return this moment as the store keeps it: the id of this run of the machine, and the seconds since boot."""
        return f"{self.boot_id()} {self.boot():.3f}"

    def since_booted(self, booted: str) -> float | None:
        """Return the seconds since such a moment; None: it was in another run of the machine, or is not known."""
        boot_id, _, seconds = booted.partition(" ")
        return self.boot() - float(seconds) if boot_id == self.boot_id() else None

    def epoch(self) -> float:
        """Return the seconds since 1970, as other programs write the time."""
        return time.time()

    def ahead(self) -> float:
        """Return how far the seconds since 1970 are ahead of those since boot; a jump of the clock changes this."""
        return self.epoch() - self.boot()

    def follow(self, ahead: float) -> None:
        """Make `steady` this far ahead of the seconds since boot from now on."""
        self._followed = ahead

    @property
    def followed(self) -> float:
        """How far `steady` is ahead of the seconds since boot."""
        if self._followed is None:
            self.follow(self.ahead())
        return self._followed or 0.0

    def steady(self, boot: float | None = None) -> float:
        """Return the seconds since 1970, now or at a time since boot, independent of jumps of the clock."""
        return (self.boot() if boot is None else boot) + self.followed

    def boot_at(self, steady: float) -> float:
        """Return the seconds since boot at which it will be, or was, so many seconds since 1970."""
        return steady - self.followed

    def utc(self) -> str:
        """Return the time as RFC 3339, in UTC."""
        seconds, rest = divmod(time.time_ns(), 10**9)
        return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest // 10**6:03d}Z"


@cache
def _boot_id() -> str:
    """Read the id once: each end of an attempt asks for it, and no process outlives its machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def as_utc(seconds: float) -> str:
    """Return a time in seconds since 1970 as RFC 3339, in UTC; empty: 0, which means never."""
    if not seconds:
        return ""
    whole, rest = divmod(round(seconds * 1000), 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{rest:03d}Z"


def seconds_of(at: str) -> float | None:
    """Return a time in seconds since 1970; None: it is not known."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return None


def age_seconds(then: str, now: str) -> float:
    """Return how much later `now` is than `then`; never negative, even if the clock was set back."""
    from datetime import datetime

    return max(0.0, (datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds())

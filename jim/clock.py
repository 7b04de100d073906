"""Three clocks: one that people read, one that no one can set, and one for times to come that others understand."""

from __future__ import annotations

import time
from pathlib import Path


class Clock:
    """The time. Ages and waits use `boot`, which neither jumps nor stops; people read `utc`.

    What is stored as due later has its time by `steady`: seconds since 1970, counted on by `boot`. So no jump of the
    clock makes such a time come earlier, or later, until somebody follows the jump (jim/keeper/due.py).
    """

    _followed: float | None = None

    def boot(self) -> float:
        """Tell the seconds since this machine was started, sleep included."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def boot_id(self) -> str:
        """Name this run of the machine; seconds since boot of another run mean nothing."""
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def epoch(self) -> float:
        """Tell the seconds since 1970, which is how other programs write the time."""
        return time.time()

    def ahead(self) -> float:
        """Tell how far the seconds since 1970 are ahead of those since boot: a jump of the clock changes that."""
        return self.epoch() - self.boot()

    def follow(self, ahead: float) -> None:
        """Count `steady` so far ahead from now on."""
        self._followed = ahead

    @property
    def followed(self) -> float:
        """How far `steady` is ahead of the seconds since boot."""
        if self._followed is None:
            self.follow(self.ahead())
        return self._followed or 0.0

    def steady(self, boot: float | None = None) -> float:
        """Tell the seconds since 1970, now or at some seconds since boot, whatever was done to the clock meanwhile."""
        return (self.boot() if boot is None else boot) + self.followed

    def boot_at(self, steady: float) -> float:
        """Tell the seconds since boot at which it will be, or was, so many seconds since 1970."""
        return steady - self.followed

    def utc(self) -> str:
        """Tell the time as RFC 3339, in UTC."""
        seconds, rest = divmod(time.time_ns(), 10**9)
        return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest // 10**6:03d}Z"


def age_seconds(then: str, now: str) -> float:
    """Tell how much later `now` is than `then`; a clock that was set back makes it 0, never negative."""
    from datetime import datetime

    return max(0.0, (datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds())

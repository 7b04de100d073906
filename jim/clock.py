"""Two clocks: one that people read, and one that no one can set."""

from __future__ import annotations

import time
from pathlib import Path


class Clock:
    """The time. Due times and ages use `boot`, which neither jumps nor stops; people read `utc`."""

    def boot(self) -> float:
        """Tell the seconds since this machine was started, sleep included."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def boot_id(self) -> str:
        """Name this run of the machine; due times of another run mean nothing."""
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def epoch(self) -> float:
        """Tell the seconds since 1970, which is how other programs write the time."""
        return time.time()

    def utc(self) -> str:
        """Tell the time as RFC 3339, in UTC."""
        seconds, rest = divmod(time.time_ns(), 10**9)
        return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest // 10**6:03d}Z"


def age_seconds(then: str, now: str) -> float:
    """Tell how much later `now` is than `then`; a clock that was set back makes it 0, never negative."""
    from datetime import datetime

    return max(0.0, (datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds())

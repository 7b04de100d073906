"""Which grid jobs are to be looked at: those of which something has changed, and those whose own time has come.

Kept in memory only. After a start all that is open is looked at once, so no kill loses a look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from jim.clock import Clock
from jim.keeper.workers import NEVER

THREAD, SPARE_THREAD = "a thread for a batch command", "a thread for a wish"  # the latter leaves one for what is sent
LISTING = "a good listing"


class Looks:
    """Grid jobs, each at most once, in the order in which they came."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._now: dict[int, None] = {}
        self._at: dict[int, float] = {}  # when else, in seconds since boot
        self._times: list[tuple[float, int]] = []  # a heap of these; what is not in `_at` any more counts no more
        self._waiting: dict[str, dict[int, None]] = {THREAD: {}, SPARE_THREAD: {}, LISTING: {}}

    def add(self, grids: Iterable[int]) -> None:
        """Let these be looked at, for something of them has changed."""
        self._now |= dict.fromkeys(grids)

    def looked(self, grid: int, when: float) -> None:
        """Note that one was looked at, and when it is to be looked at next if nothing of it changes before."""
        self._now.pop(grid, None)
        if when == NEVER:
            self._at.pop(grid, None)
        elif self._at.get(grid) != when:
            self._at[grid] = when
            heappush(self._times, (when, grid))

    def wait_for(self, what: str, grid: int) -> float:
        """Let one be looked at once there is what it waits for; no time is known for that."""
        self._waiting[what][grid] = None
        return NEVER

    def wake(self, what: str) -> None:
        """Let all be looked at that wait for something."""
        self.add(self._waiting[what])
        self._waiting[what].clear()

    def take(self) -> Iterator[int]:
        """Give those that are to be looked at now; each stays one of these until it was looked at."""
        now = self._clock.boot()
        while self._times and self._times[0][0] <= now:
            when, grid = heappop(self._times)
            if self._at.get(grid) == when:
                del self._at[grid]
                self._now[grid] = None
        yield from list(self._now)

    def take_waiting(self, what: str) -> Iterator[int]:
        """Give those that wait for something, who waits longest first, one by one; those that are not taken wait on."""
        for grid in list(self._waiting[what]):
            del self._waiting[what][grid]
            self._now[grid] = None
            yield grid

    def soonest(self) -> float:
        """Tell when the next one is to be looked at, in seconds since boot; 0: now."""
        if self._now:
            return 0.0
        return self._times[0][0] if self._times else NEVER

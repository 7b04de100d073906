"""Chooses the grid jobs to look at: those that have changed, and those that are due.

Kept in memory only. After a start, every open grid job is looked at once, so no kill loses a look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from jim.clock import Clock
from jim.keeper.workers import NEVER

THREAD, SPARE_THREAD = "a thread for a batch command", "a thread for a wish"  # the latter leaves one for submissions
LISTING = "a good listing"
SPACE = "space"  # on the disks of state and work directory
JUDGED = "judged"  # the hosts, after a failure that may be the fault of one
AT_ONCE = 0.0  # from a move that has changed the step: the look ends here, and the next one begins


class Looks:
    """Grid jobs to look at, each at most once, in order of arrival."""

    publications: bool = False  # wait in the spool: there were more than may be taken in within a second

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._now: dict[int, None] = {}
        self._at: dict[int, float] = {}  # when to look if nothing changes, in seconds since boot
        self._times: list[tuple[float, int]] = []  # a heap of these; entries that differ from `_at` are void
        self._waiting: dict[str, dict[int, None]] = {THREAD: {}, SPARE_THREAD: {}, LISTING: {}, SPACE: {}, JUDGED: {}}

    def add(self, grids: Iterable[int]) -> None:
        """Add grid jobs that have changed."""
        self._now |= dict.fromkeys(grids)

    def looked(self, grid: int, when: float) -> None:
        """Note that a grid job was looked at, and when to look next if nothing changes before."""
        self._now.pop(grid, None)
        if when == NEVER:
            self._at.pop(grid, None)
        elif self._at.get(grid) != when:
            self._at[grid] = when
            heappush(self._times, (when, grid))

    def wait_for(self, what: str, grid: int) -> float:
        """Let a grid job wait for an event, such as a free thread; return NEVER, as no time is known."""
        self._waiting[what][grid] = None
        return NEVER

    def wake(self, what: str) -> None:
        """Add all grid jobs that wait for this event."""
        self.add(self._waiting[what])
        self._waiting[what].clear()

    def take(self) -> Iterator[int]:
        """Yield grid jobs to look at now; each stays in the list until it was looked at."""
        now = self._clock.boot()
        while self._times and self._times[0][0] <= now:
            when, grid = heappop(self._times)
            if self._at.get(grid) == when:
                del self._at[grid]
                self._now[grid] = None
        yield from list(self._now)

    def take_waiting(self, what: str) -> Iterator[int]:
        """Yield grid jobs that wait for this event, the longest waiting first; those not taken wait on."""
        for grid in list(self._waiting[what]):
            del self._waiting[what][grid]
            self._now[grid] = None
            yield grid

    def soonest(self) -> float:
        """Return when the next grid job is to be looked at, in seconds since boot; 0: now."""
        if self._now:
            return 0.0
        return self._times[0][0] if self._times else NEVER

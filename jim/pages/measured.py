"""Counts requests by page and time, and changes of local jobs, since the pages were started."""

from __future__ import annotations

import threading
from collections import Counter

from jim.reading.view import View

BOUNDS = (0.005, 0.02, 0.06, 0.15, 0.5, 1.0, 4.0, float("inf"))  # seconds
MOST_LINES = 200_000  # of the journal, counted at once


class Measured:
    """Counts that only grow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: dict[tuple[str, str], list[int]] = {}
        self._sums: dict[tuple[str, str], float] = {}
        self._changes: Counter[str] = Counter()
        self._last: int | None = None  # line of the journal

    def add(self, page: str, status: int, seconds: float) -> None:
        """Count a request."""
        name = page, f"{status // 100}xx"
        with self._lock:
            counts = self._times.setdefault(name, [0] * len(BOUNDS))
            counts[next(place for place, bound in enumerate(BOUNDS) if seconds <= bound)] += 1
            self._sums[name] = self._sums.get(name, 0.0) + seconds

    def requests(self) -> dict[tuple[str, str], tuple[list[tuple[str, int]], float]]:
        """Return, by page and class of status, how many requests took at most so long, and the sum of their times."""
        with self._lock:
            return {name: (_summed(counts), self._sums[name]) for name, counts in self._times.items()}

    def changes(self, view: View) -> Counter[str]:
        """Return how many local jobs came into each state, as far as the journal has been counted."""
        end = view.store.journal_end()
        with self._lock:
            if self._last is None or end < self._last:  # at first, or another store is in its place
                self._last = end
            upto = min(end, self._last + MOST_LINES)
            self._changes.update(view.store.changes_of_local_jobs(self._last, upto))
            self._last = upto
            return self._changes.copy()


def _summed(counts: list[int]) -> list[tuple[str, int]]:
    """Return counts up to each bound."""
    names = ["+Inf" if bound == float("inf") else f"{bound:g}" for bound in BOUNDS]
    return [(name, sum(counts[: place + 1])) for place, name in enumerate(names)]

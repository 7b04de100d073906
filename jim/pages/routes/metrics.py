"""/metrics: counts and ages for Prometheus. They name nobody: states, kinds, steps and pages only."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator

from flask import Flask, Response, g, request

from jim.pages.app import Pages, require_no_filter
from jim.reading.exposition import CONTENT_TYPE, COUNTER, HISTOGRAM, Family, Sample, text_of
from jim.reading.site.metrics import families, numbers_of
from jim.reading.view import View

COUNTED = ("running", "completed", "failed", "killed")
BOUNDS = (0.005, 0.02, 0.06, 0.15, 0.5, 1.0, 4.0, float("inf"))  # seconds
MOST_LINES = 200_000  # of the journal, counted at once


class Counts:
    """Requests by page and time, and changes of local jobs, since the pages were started: they only grow."""

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
        end = view.store.seen.journal_end()
        with self._lock:
            if self._last is None or end < self._last:  # at first, or another store is in its place
                self._last = end
            upto = min(end, self._last + MOST_LINES)
            self._changes.update(view.store.seen.changes_of_local_jobs(self._last, upto))
            self._last = upto
            return self._changes.copy()


def _summed(counts: list[int]) -> list[tuple[str, int]]:
    """Return counts up to each bound."""
    names = ["+Inf" if bound == float("inf") else f"{bound:g}" for bound in BOUNDS]
    return [(name, sum(counts[: place + 1])) for place, name in enumerate(names)]


def add(app: Flask, pages: Pages) -> None:
    """Add the page, and count requests from now on."""
    counts = Counts()
    app.add_url_rule("/metrics", "metrics", lambda: metrics(pages, counts))
    app.after_request(lambda response: _count(counts, response))


def _count(counts: Counts, response: Response) -> Response:
    took = time.monotonic() - g.get("began", time.monotonic())
    counts.add(request.endpoint or "none", response.status_code, took)
    return response


def metrics(pages: Pages, counts: Counts) -> Response:
    """Send all metrics as text."""
    require_no_filter()
    with pages.viewing() as view:
        text = text_of([*families({"": numbers_of(view)}), *_since_the_start(counts, view)])
        return Response(text, content_type=CONTENT_TYPE)


def _since_the_start(counts: Counts, view: View) -> Iterator[Family]:
    """Yield what only a process that goes on can count."""
    counted = counts.changes(view)
    words = "Local jobs that came into a state since the pages were started"
    changes = [Sample(counted[state], {"state": state}) for state in COUNTED]
    yield Family("jim_local_job_changes_total", COUNTER, words, changes)
    times = list[Sample]()
    for (page, status), (buckets, total) in sorted(counts.requests().items()):
        labels = {"page": page, "status": status}
        times += [Sample(count, {**labels, "le": bound}, "_bucket") for bound, count in buckets]
        times += [Sample(buckets[-1][1], labels, "_count"), Sample(total, labels, "_sum")]
    yield Family("jim_pages_request_seconds", HISTOGRAM, "Time to answer", times)

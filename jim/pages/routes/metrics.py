"""/metrics: counts and ages for Prometheus. They name nobody and nothing but states, steps and pages."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, g, request

from jim.model import State, Step
from jim.pages.app import Pages, require_no_filter
from jim.pages.refusals import Refused
from jim.reading.site.site_view import health, unfinished_counts
from jim.reading.view import View

if TYPE_CHECKING:
    from prometheus_client import Metric

NEEDED = (
    "the Python package prometheus_client is not installed: on Debian, apt-get install python3-prometheus-client; "
    "elsewhere, pip install prometheus_client"
)
COUNTED = ("running", "completed", "failed", "killed")
BOUNDS = (0.005, 0.02, 0.06, 0.15, 0.5, 1.0, 4.0, float("inf"))  # seconds
MOST_LINES = 200_000  # of the journal, counted at once


class Families:
    """Metrics as prometheus_client takes them."""

    def __init__(self, found: Iterator[Metric]) -> None:
        self.collect = lambda: found


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
    try:
        from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
    except ImportError as error:
        raise Refused(501, NEEDED) from error
    with pages.viewing() as view:
        families: Any = Families(_families(counts, view))
        return Response(generate_latest(families), content_type=CONTENT_TYPE_LATEST)


def _families(counts: Counts, view: View) -> Iterator[Metric]:
    yield from _gauges(view)
    yield from _ages(view)
    yield from _counters(counts, view)


def _gauges(view: View) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    local = GaugeMetricFamily("jim_local_jobs", "Local jobs of unfinished grid jobs by state", labels=["state"])
    counts = unfinished_counts(view)
    for state in State:
        if state is not State.UNKNOWN:
            local.add_metric([state.value], counts.get(state, 0))
    yield local
    grid = GaugeMetricFamily("jim_grid_jobs", "Grid jobs by step", labels=["step"])
    steps = view.store.seen.steps()
    for step in Step:
        grid.add_metric([step.value], steps.get(step, 0))
    yield grid


def _ages(view: View) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    seen, age = health(view), view.heartbeat_age()
    yield GaugeMetricFamily("jim_keeper_at_work", "1 if a keeper is at work", value=seen.heart.at_work)
    yield GaugeMetricFamily("jim_unfinished", "1 if there is unfinished work", value=seen.unfinished)
    if age is not None:
        words = "Seconds since the keeper's last heartbeat; none while it is at rest"
        yield GaugeMetricFamily("jim_keeper_heartbeat_age_seconds", words, value=age)
    if seen.seen:
        words = "Seconds since the batch system's last good answer"
        yield GaugeMetricFamily("jim_batch_answer_age_seconds", words, value=view.age(seen.seen))
    failures = GaugeMetricFamily("jim_batch_failures_in_a_row", "Batch commands without a good answer", labels=["of"])
    failures.add_metric(["batch system"], view.published.trouble.failures)
    failures.add_metric(["history"], view.published.history.failures)
    yield failures


def _counters(counts: Counts, view: View) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

    words = "Local jobs that came into a state since the pages were started"
    changes = CounterMetricFamily("jim_local_job_changes", words, labels=["state"])
    found = counts.changes(view)
    for state in COUNTED:
        changes.add_metric([state], found[state])
    yield changes
    times = HistogramMetricFamily("jim_pages_request_seconds", "Time to answer", labels=["page", "status"])
    for (page, status), (buckets, total) in sorted(counts.requests().items()):
        times.add_metric([page, status], buckets=buckets, sum_value=total)
    yield times

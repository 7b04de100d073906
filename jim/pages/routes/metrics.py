"""/metrics: counts and ages for Prometheus. They name nobody and nothing but states, steps and pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from flask import Flask, Response

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


class Families:
    """Metrics as prometheus_client takes them."""

    def __init__(self, found: Iterator[Metric]) -> None:
        self.collect = lambda: found


def add(app: Flask, pages: Pages) -> None:
    """Add the page."""
    app.add_url_rule("/metrics", "metrics", lambda: metrics(pages))


def metrics(pages: Pages) -> Response:
    """Send all metrics as text."""
    require_no_filter()
    try:
        from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
    except ImportError as error:
        raise Refused(501, NEEDED) from error
    with pages.viewing() as view:
        families: Any = Families(_families(pages, view))
        return Response(generate_latest(families), content_type=CONTENT_TYPE_LATEST)


def _families(pages: Pages, view: View) -> Iterator[Metric]:
    yield from _gauges(view)
    yield from _ages(view)
    yield from _counters(pages, view)


def _gauges(view: View) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    local = GaugeMetricFamily("jim_local_jobs", "Local jobs of unfinished grid jobs by state", labels=["state"])
    counts = unfinished_counts(view)
    for state in State:
        if state is not State.UNKNOWN:
            local.add_metric([state.value], counts.get(state, 0))
    yield local
    grid = GaugeMetricFamily("jim_grid_jobs", "Grid jobs by step", labels=["step"])
    steps = view.store.steps()
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


def _counters(pages: Pages, view: View) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

    words = "Local jobs that came into a state since the pages were started"
    changes = CounterMetricFamily("jim_local_job_changes", words, labels=["state"])
    found = pages.measured.changes(view)
    for state in COUNTED:
        changes.add_metric([state], found[state])
    yield changes
    times = HistogramMetricFamily("jim_pages_request_seconds", "Time to answer", labels=["page", "status"])
    for (page, status), (buckets, total) in sorted(pages.measured.requests().items()):
        times.add_metric([page, status], buckets=buckets, sum_value=total)
    yield times

"""Reads what one screen shows of a site: unfinished grid jobs, what fails, hosts, tasks, and whether all is at work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from jim.clock import age_seconds
from jim.jobs import GridJob
from jim.model import State, Step
from jim.reading.groups import Group, grouped
from jim.reading.hosts import avoided_now
from jim.reading.job.history import Pace, last_hour, minutes, pace
from jim.reading.job.names import age, names_of
from jim.reading.keeper_life import Heart
from jim.reading.progress import progress
from jim.reading.site.site_view import OPEN, unfinished_counts
from jim.reading.view import View
from jim.site.drain import in_words
from jim.statusdb.list_filters import GridJobsAsked, HostTotal
from jim.statusdb.status import status
from jim.statusdb.task_rows import PieceState, Task, TaskState
from jim.tasks.effects import paused_by_itself

MOST_FAILED = 20_000  # attempts that are looked at
MOST_GRID_JOBS, MOST_TASKS = 100_000, 100
ENDED = (TaskState.FINISHED, TaskState.CANCELLED)
Counts = Mapping[State, int]
# What a grid job is sorted by, the largest first; those that are equal stand as the newest first.
ORDERS: Mapping[str, Callable[[GridJob, Counts], int]] = {
    "newest first": lambda job, counts: job.id,
    "most failed first": lambda job, counts: counts.get(State.FAILED, 0),
    "most running first": lambda job, counts: counts.get(State.RUNNING, 0),
    "most left first": lambda job, counts: sum(count for state, count in counts.items() if not state.final),
    "oldest first": lambda job, counts: -job.id,
}


class OneGridJob(NamedTuple):
    """An unfinished grid job: how far it is, and how fast."""

    id: int
    name: str
    job_type: str
    status: str
    progress: str
    failed: int
    last_hour: int  # local jobs that have completed
    left: float | None  # seconds, if it goes on as in the last hour
    age: str


class OneTask(NamedTuple):
    """A task that is not over: how far it is, and why it does not go on."""

    name: str
    state: TaskState
    pieces: Mapping[str, int]  # by state
    reason: str
    waits_for_a_person: bool


class Glance(NamedTuple):
    """All that the screen shows, as of one moment."""

    at: str
    site: str
    system: str
    seen: float | None  # seconds since the batch system's last good answer; None: it never gave one
    heart: Heart
    troubles: Sequence[str]  # what delays everything
    handed_in: int  # requests that no keeper has taken yet
    statuses: Mapping[str, int]  # of unfinished grid jobs
    counts: Counts  # of their local jobs
    last_hour: Mapping[str, int]  # attempts that started, local jobs that ended
    grid_jobs: Sequence[OneGridJob]
    failures: Sequence[Group]  # of the last hour
    hosts: Sequence[HostTotal]  # with failures, those with the most first
    all_hosts: int
    avoided: Sequence[str]
    tasks: Sequence[OneTask]


def glance(view: View, order: str, most: int) -> Glance:
    """Look at everything; at most so many grid jobs in an order."""
    jobs = view.store.seen.grid_jobs_page(GridJobsAsked(steps=OPEN), MOST_GRID_JOBS)
    tallies = view.store.seen.tallies([job.id for job in jobs])
    hour, totals, avoided = last_hour(view), view.store.hosts.totals(), avoided_now(view)
    strict = view.site.site.strict_status
    return Glance(
        view.now(),
        view.site.site.name,
        view.site.batch.system,
        view.age(view.seen()) if view.seen() else None,
        view.heart(),
        _troubles(view),
        sum(1 for _ in (view.site.state / "inbox").glob("request-*")),
        Counter(status(job, tallies.get(job.id, {}), strict=strict) for job in jobs),
        unfinished_counts(view),
        {what: sum(each) for what, each in hour.counts.items()} if hour else {},
        _grid_jobs(view, _first(jobs, tallies, order, most), tallies),
        _failures(view),
        sorted((each for each in totals if each.failed), key=lambda each: (-each.failed, each.host)),
        len(totals),
        sorted(avoided),
        _tasks(view),
    )


def _first(jobs: Sequence[GridJob], tallies: Mapping[int, Counts], order: str, most: int) -> list[GridJob]:
    """Return the first grid jobs in an order; those of tasks are told with their tasks."""
    by, own = ORDERS[order], (job for job in jobs if not job.is_of_task)
    return sorted(own, key=lambda job: (-by(job, tallies.get(job.id, {})), -job.id))[:most]


def _troubles(view: View) -> list[str]:
    """Return what delays all grid jobs, and whether the site is drained."""
    words = [*(words for _, words in view.shortages()), view.unwritten(), in_words(view.site)]
    if trouble := view.published.trouble.words:
        words.insert(0, f"the batch system does not answer: {trouble}")
    return [each for each in words if each]


def _grid_jobs(view: View, jobs: Sequence[GridJob], tallies: Mapping[int, Counts]) -> list[OneGridJob]:
    names, strict = names_of(view, jobs), view.site.site.strict_status
    return [_grid_job(view, job, names.get(job.id, ""), tallies.get(job.id, {}), strict=strict) for job in jobs]


def _grid_job(view: View, job: GridJob, name: str, counts: Counts, *, strict: bool) -> OneGridJob:
    by_minute, since = minutes(view, job) if job.step is Step.ACTIVE else [], _an_hour_ago(view)[:16]
    completed = sum(each.times for each in by_minute if each.what == State.COMPLETED.value and each.at >= since)
    how_far = status(job, counts, strict=strict), progress(job, counts), counts.get(State.FAILED, 0)
    return OneGridJob(
        job.id, name, job.job_type, *how_far, completed, _left(view, pace(view, job, by_minute)), age(view, job)
    )


def _left(view: View, pace: Pace | None) -> float | None:
    return age_seconds(view.now(), pace.end) if pace else None


def _an_hour_ago(view: View) -> str:
    return (datetime.fromisoformat(view.now()) - timedelta(hours=1)).isoformat(timespec="milliseconds")[:23]


def _failures(view: View) -> list[Group]:
    return grouped(view.store.hosts.failed_since(_an_hour_ago(view), MOST_FAILED))


def _tasks(view: View) -> list[OneTask]:
    """Return the tasks that are not over, those first that wait for a person."""
    tasks = [each for each in view.store.tasks.all() if each.state not in ENDED]
    tasks.sort(key=lambda each: (not paused_by_itself(each), each.state is TaskState.PAUSED, -each.id))
    counts = view.store.seen_tasks.counts([each.id for each in tasks[:MOST_TASKS]]) if tasks else {}
    return [_task(each, counts.get(each.id, {}).get("pieces", {})) for each in tasks[:MOST_TASKS]]


def _task(task: Task, pieces: Mapping[str, int]) -> OneTask:
    gone = (PieceState.TAKEN_BACK, PieceState.REPLACED)
    there = {state: count for state, count in pieces.items() if state not in gone and count}
    return OneTask(task.name, task.state, there, task.reason, paused_by_itself(task))

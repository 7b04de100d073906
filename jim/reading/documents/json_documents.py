"""Describes a job as one JSON document, the same for the command line and the pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from jim.errors import JimError
from jim.evidence.exit_record import ExitRecord, read_exit_record
from jim.jobs import Attempt, GridJob, LocalJob
from jim.model import State, SubmissionState
from jim.reading.before_submission import Wait
from jim.reading.job import last_lines, queue_words
from jim.reading.job.phases import phases
from jim.reading.job.waits import of_grid_job, of_local_job
from jim.reading.view import View
from jim.statusdb.list_filters import GridJobsAsked

SHOWN = 50
EVENTS = ("first_event", "events", "arguments")  # fields of a piece that are always in the document; others only if set
# If there are too many to show, local jobs that may need a person come first.
FIRST = (
    State.FAILED,
    State.KILLED,
    State.NEW,
    State.HELD,
    State.SUSPENDED,
    State.RUNNING,
    State.COMPLETING,
    State.SUBMITTING,
    State.SUBMITTED,
    State.WAITING,
    State.COMPLETED,
    State.FAILED_FROZEN,
    State.COMPLETED_FROZEN,
)
SUBMISSION_STATES = (
    SubmissionState.INTENDED,
    SubmissionState.UNKNOWN,
    SubmissionState.FULL,
    SubmissionState.REFUSED,
    SubmissionState.CANCELLED,
    SubmissionState.RECORDED,
    SubmissionState.CONFIRMED,
    SubmissionState.VOID,
    SubmissionState.ENDED,
)
NOTHING = Wait("nothing that is stored", "the keeper moves it on in its next round")


class Wanted(NamedTuple):
    """The local jobs of a grid job to show."""

    states: tuple[State, ...] = tuple(State)
    first: int = 0
    limit: int | None = None  # None: the most important ones, at most SHOWN


def chosen(view: View, job: GridJob, wanted: Wanted) -> Iterator[LocalJob]:
    """Return the local jobs of a grid job to show, in order."""
    if wanted.limit is not None:
        return view.in_parts(job.id, wanted.states, first=wanted.first, limit=wanted.limit)
    found: list[LocalJob] = []
    for state in FIRST if job.size else ():
        found += view.store.local_jobs(job.id, (state,), limit=SHOWN - len(found))
        if len(found) == SHOWN:
            break
    return iter(sorted(found, key=lambda each: each.n))


def exit_record(attempt: Attempt) -> ExitRecord | None:
    """Return the exit record of an attempt, if there is one."""
    with suppress(JimError):
        return read_exit_record(attempt.record)
    return None


def of_job(view: View, job: GridJob) -> dict[str, Any]:
    """Return the document of a grid job, with its most important local jobs."""
    document = of_job_in_parts(view, job, Wanted())
    return document | {"local_jobs": list(document["local_jobs"])}


def of_job_in_parts(view: View, job: GridJob, wanted: Wanted) -> dict[str, Any]:
    """Return the document of a grid job; its local jobs are an iterator, as there may be very many."""
    fields = ("request", "size", "events_per_job", "why", "wish", "priority", "result")
    return view.record(job) | {
        **{name: getattr(job, name) for name in fields},
        "led_to": [each.id for each in led_to(view, job)],
        "queue": queue_words.records(view, job),
        "last_lines": last_lines.records(view, job),
        "phases": [phase._asdict() for phase in phases(view, job)],
        "local_jobs": view.local_records(job, chosen(view, job, wanted)),
        "submissions": [each._asdict() for each in view.store.submissions(*SUBMISSION_STATES, grid=job.id)],
        "journal": [line._asdict() for line in view.store.journals.of_itself(job.id)],
    }


def led_to(view: View, job: GridJob) -> list[GridJob]:
    """Return the grid jobs that do work of this one again, the newest first."""
    found = view.store.seen.grid_jobs_page(GridJobsAsked(masters=(job.id,)), SHOWN)
    return [each for each in found if each.id != job.id]


def of_member(view: View, job: GridJob, local: LocalJob) -> dict[str, Any]:
    """Return the document of a local job."""
    return view.local_record(job, local) | {
        "piece": {
            name: value for name, value in local.piece._asdict().items() if name in EVENTS or value or value == 0
        },
        "wish": local.wish,
        "spent": local.spent,
        "phases": [phase._asdict() for phase in phases(view, job, local.n)],
        "attempts": list(_attempts(view, local)),
        "journal": [line._asdict() for line in view.store.journals.of(job.id, local.n)],
    }


def _attempts(view: View, local: LocalJob) -> Iterator[dict[str, Any]]:
    for attempt in view.store.attempts(local.grid, n=local.n):
        record = exit_record(attempt)
        sent = view.store.submission(attempt.grid, attempt.k)
        yield attempt._asdict() | {"record": _record(record) if record else None, "asked": sent.asked if sent else {}}


def _record(record: ExitRecord) -> dict[str, Any]:
    return record._asdict() | {"files": [each._asdict() for each in record.files]}


def waits(view: View, job: GridJob, local: LocalJob | None = None) -> list[Wait]:
    """Return what a grid job or one of its local jobs waits for."""
    return list(of_grid_job(view, job) if local is None else of_local_job(view, job, local))


def explained(view: View, job: GridJob, local: LocalJob | None = None) -> dict[str, object]:
    """Return what a job waits for, the evidence, and the next step."""
    record = view.record(job) | {"why": job.why} if local is None else view.local_record(job, local)
    return record | {"waits_for": [_wait(view, wait) for wait in waits(view, job, local)]}


def _wait(view: View, wait: Wait) -> dict[str, object]:
    age = round(view.age(wait.seen), 1) if wait.seen else 0.0
    return {"what": wait.what, "witness": wait.witness, "seen": wait.seen, "age_s": age, "next": wait.next}

"""jim show: a grid job or a local job in detail."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from jim.cli import outputs
from jim.cli.text import facts, plain, say, say_json, table
from jim.errors import JimError
from jim.evidence.exit_record import ExitRecord, read_exit_record
from jim.jobs import Attempt, GridJob, Journal, LocalJob
from jim.model import Piece, State, SubmissionState
from jim.reading.masks import mask_in_words, more
from jim.reading.phases import phases
from jim.reading.quantities import ago, counted, how_many
from jim.reading.view import View, add_json, look

SHOWN = 50
LONGEST_PIECE = 60  # in a table
# Columns of a piece that are always shown; those of splitters only if present.
EVENTS = ("first_event", "events", "arguments")
# If there are too many local jobs to show, those that may need attention come first.
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim show`."""
    parser.add_argument("target", metavar="G|G.n", help="a grid job, or local jobs of it: 12.3, 12.1-4,7")
    parser.add_argument("--all", action="store_true", help=f"show all local jobs, not only {SHOWN}")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what the store has about the job."""
    view = look()
    job, members = view.members(arguments.target)
    if arguments.json:
        documents = [_local_document(view, job, each) for each in members] or [
            _document(view, job, every=arguments.all)
        ]
        say_json(documents if len(documents) > 1 else documents[0])
    elif not members:
        _show(view, job, every=arguments.all)
    elif len(members) == 1:
        _show_local(view, job, members[0])
    else:
        _show_members(view, members)
    return 0


# A grid job


def _show(view: View, job: GridJob, *, every: bool) -> None:
    facts(_facts(view, job))
    outputs.report(job)
    chosen = _chosen(view, job, every=every)
    if chosen:
        say()
        _show_members(view, chosen)
        _say_rest(view, job, chosen)
    _show_submissions(view, job)
    _show_journal(view.store.own_journal(job.id, SHOWN))


def _show_members(view: View, members: Sequence[LocalJob]) -> None:
    head = ("id", "state", "attempt", "piece", "witness", "changed", "reason")
    table(head, (_row(view, each) for each in members))


def _facts(view: View, job: GridJob) -> Iterator[tuple[str, object]]:
    record, wish = view.record(job), f", {job.wish} requested" if job.wish else ""
    yield "grid job", f"{job.id}, {plain(job.job_type)}, of {plain(job.owner)}"
    yield "key", plain(job.key)
    yield "status", f"{record['status']} (step {job.step.value}{wish})"
    yield "herd", f"{record['herd']}, by {plain(job.splitter)}" if job.splitter else ""
    if job.priority:
        yield "priority", f"{job.priority} (0 is usual, the highest is submitted first)"
    yield "local jobs", counted(record["counts"].items())
    yield "reason", plain(view.why(job))
    yield from _times(record)
    yield "size", _size(job)
    for name, value in job.request.items():
        if value and name != "key":
            yield "asked", plain(f"{name} = {_value(value)}")
    for phase in phases(view, job):
        yield "phase", plain(phase.words())


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):  # there may be thousands, each long
        return f"{len(value):,} records"
    return repr(value)


def _times(record: dict[str, Any]) -> list[tuple[str, object]]:
    by = f" by {record['witness']}" if record["witness"] else ""
    seen = f"{record['seen']} ({ago(record['age_s'])}){by}"
    final = record["step"] == "finished"
    return [("created", record["created"]), ("ended" if final else "seen", record["seen"] if final else seen)]


def _size(job: GridJob) -> str:
    if not job.size:
        return ""
    each = f" of {job.events_per_job:,} events" if job.events_per_job else ""
    return f"{how_many(job.size, 'local job')}{each}: {plain(job.why)}"


def _chosen(view: View, job: GridJob, *, every: bool) -> list[LocalJob]:
    if every:
        return view.store.local_jobs(job.id)
    chosen: list[LocalJob] = []
    for state in FIRST if job.size else ():
        chosen += view.store.local_jobs(job.id, (state,), limit=SHOWN - len(chosen))
        if len(chosen) == SHOWN:
            break
    return sorted(chosen, key=lambda each: each.n)


def _row(view: View, local: LocalJob) -> tuple[object, ...]:
    changed = ago(view.age(local.updated))
    name = f"{local.grid}.{local.n}"
    return name, local.state.value, local.attempt, _piece(local.piece), local.witness, changed, local.reason


def _piece(piece: Piece, *, whole: bool = False) -> str:
    if piece.files:
        return f"{piece.files[0]}{more(len(piece.files) - 1)}{mask_in_words(piece.mask)}"
    if piece.first_event is not None and piece.events:
        return f"events {piece.first_event:,}–{piece.first_event + piece.events - 1:,}"
    words = " ".join(piece.arguments)
    if whole or len(words) <= LONGEST_PIECE:
        return words
    half = LONGEST_PIECE // 2
    return f"{words[: half - 1]} … {words[-half + 2 :]}"  # its end as well: it differs between local jobs


def _say_rest(view: View, job: GridJob, chosen: list[LocalJob]) -> None:
    shown = Counter(each.state for each in chosen)
    rest = [(state.value, count - shown[state]) for state, count in view.store.counts(job.id).items()]
    left = [(state, count) for state, count in rest if count > 0]
    if left:
        say(f"… and {counted(left)} (--all shows them)")


def _show_submissions(view: View, job: GridJob) -> None:
    found = sorted(view.store.submissions(*SUBMISSION_STATES, grid=job.id), key=lambda each: each.k)
    if not found:
        return
    say()
    rows = ((s.k, s.size, s.state, s.batch_id, s.mark, ago(view.age(s.updated)), s.reason) for s in found[-SHOWN:])
    table(("submission", "local jobs", "state", "batch job", "mark", "changed", "reason"), rows)


def _document(view: View, job: GridJob, *, every: bool) -> dict[str, Any]:
    fields = ("request", "size", "events_per_job", "why", "wish", "priority", "result")
    return view.record(job) | {
        **{name: getattr(job, name) for name in fields},
        "phases": [asdict(phase) for phase in phases(view, job)],
        "local_jobs": [view.local_record(job, each) for each in _chosen(view, job, every=every)],
        "submissions": [asdict(each) for each in view.store.submissions(*SUBMISSION_STATES, grid=job.id)],
        "journal": [asdict(line) for line in view.store.own_journal(job.id)],
    }


# A local job


def _show_local(view: View, job: GridJob, local: LocalJob) -> None:
    facts(_local_facts(view, job, local))
    attempts = view.store.attempts(job.id, n=local.n)
    if attempts:
        say()
        head = ("attempt", "submission", "host", "started", "ended", "CPU s", "exit", "verdict", "reason")
        table(head, map(_attempt_row, attempts))
    _show_journal(view.store.journal(job.id, local.n))


def _local_facts(view: View, job: GridJob, local: LocalJob) -> Iterator[tuple[str, object]]:
    yield "local job", f"{job.id}.{local.n}, {plain(job.job_type)}, of {plain(job.owner)}"
    yield "state", f"{local.state.value}{f', {local.wish} wished' if local.wish else ''}"
    yield "reason", plain(local.reason)
    yield from _times(view.local_record(job, local))
    yield "changed", f"{local.updated} by {local.witness}" if local.witness else local.updated
    yield "piece", plain(_piece(local.piece, whole=True))
    yield "split from", "" if local.piece.source is None else f"{job.id}.{local.piece.source}"
    for name, value in local.piece.variables.items():
        yield "variable", plain(f"{name} = {value}")
    for name, value in local.piece.attributes.items():
        yield "own", plain(f"{name} = {value!r}")
    yield "arguments", plain(" ".join(local.piece.arguments)) if local.piece.files else ""
    yield "attempts", f"{local.spent} of {view.site.limits.attempts} spent"
    yield "recovery", plain(" ".join(local.recovery))
    for phase in phases(view, job, local.n):
        yield "phase", plain(phase.words())


def _attempt_row(attempt: Attempt) -> tuple[object, ...]:
    record = exit_record(attempt)
    place, verdict = f"s{attempt.k}, index {attempt.idx}", attempt.verdict or "none yet"
    if record is None:
        return attempt.attempt, place, attempt.host, attempt.started, "", "", "", verdict, attempt.reason
    end = f"signal {record.signal}" if record.signal is not None else record.code
    times = record.started, record.ended, f"{record.cpu:.1f}"
    return attempt.attempt, place, attempt.host, *times, end, verdict, attempt.reason


def exit_record(attempt: Attempt) -> ExitRecord | None:
    """Read the exit record of an attempt, if there is one."""
    with suppress(JimError):
        return read_exit_record(attempt.record)
    return None


def _show_journal(journal: Sequence[Journal]) -> None:
    if journal:
        say()
        table(("at", "change", "witness", "reason"), map(_journal_row, journal))


def _journal_row(line: Journal) -> tuple[object, ...]:
    change = f"{line.was} → {line.now}" if line.was else line.now
    return line.at, change, line.witness, line.reason


def _local_document(view: View, job: GridJob, local: LocalJob) -> dict[str, Any]:
    return view.local_record(job, local) | {
        "piece": {
            name: value for name, value in local.piece._asdict().items() if name in EVENTS or value or value == 0
        },
        "wish": local.wish,
        "spent": local.spent,
        "phases": [asdict(phase) for phase in phases(view, job, local.n)],
        "attempts": list(_attempt_documents(view, local)),
        "journal": [asdict(line) for line in view.store.journal(job.id, local.n)],
    }


def _attempt_documents(view: View, local: LocalJob) -> Iterator[dict[str, Any]]:
    for attempt in view.store.attempts(local.grid, n=local.n):
        record = exit_record(attempt)
        yield asdict(attempt) | {"record": asdict(record) if record else None}

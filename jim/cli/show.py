"""jim show: a grid job or a local job in detail."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from jim.cli import outputs
from jim.cli.arguments import whole_number
from jim.cli.table import table
from jim.cli.text import facts, local_time, plain, say, say_json, say_json_in_parts
from jim.jobs import Attempt, GridJob, Journal, LocalJob, Submission
from jim.model import State
from jim.reading.documents.json_documents import (
    SHOWN,
    SUBMISSION_STATES,
    Wanted,
    chosen,
    exit_record,
    led_to,
    of_job_in_parts,
    of_member,
)
from jim.reading.job import last_lines, queue_words
from jim.reading.job.names import name_of
from jim.reading.job.phases import phases
from jim.reading.job.piece_inputs import piece_words
from jim.reading.quantities import ago, counted, how_many, memory_words, spent_words
from jim.reading.view import View, add_json, look

MOST_RECORDS, LONGEST_VALUE = 20, 500  # of a list of tables that is shown whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim show`."""
    parser.add_argument(
        "target",
        metavar="G|G.n|CONTACT|KEY",
        help="a grid job, or local jobs of it: 12.3, 12.1-4,7; or what a gatekeeper or its client calls the grid job",
    )
    parser.add_argument(
        "--from", type=whole_number(0), default=0, dest="first", metavar="N", help="the local jobs from G.N on"
    )
    parser.add_argument(
        "--state",
        action="append",
        choices=[state.value for state in State],
        default=[],
        metavar="STATE",
        help="the local jobs in this state; repeat for several",
    )
    parser.add_argument("--limit", type=whole_number(1), metavar="N", help=f"at most N local jobs (default: {SHOWN})")
    parser.add_argument("--all", action="store_true", help="all local jobs, without a limit")
    add_json(parser)


def _wanted(arguments: argparse.Namespace) -> Wanted:
    states = tuple(map(State, dict.fromkeys(arguments.state)))
    narrowed = bool(states or arguments.first)
    limit = sys.maxsize if arguments.all else arguments.limit or (SHOWN if narrowed else None)
    return Wanted(states or tuple(State), arguments.first, limit)


def run(arguments: argparse.Namespace) -> int:
    """Print what the store has about the job."""
    view, wanted = look(), _wanted(arguments)
    job, members = view.members(view.numbered(arguments.target))
    if arguments.json and not members:
        say_json_in_parts({**of_job_in_parts(view, job, wanted), **_sender(view, job)})
    elif arguments.json:
        documents = [of_member(view, job, each) for each in members]
        say_json(documents if len(documents) > 1 else documents[0])
    elif not members:
        _show(view, job, wanted)
    elif len(members) == 1:
        _show_local(view, job, members[0])
    else:
        _show_members(view, members)
    return 0


# A grid job


def _show(view: View, job: GridJob, wanted: Wanted) -> None:
    facts(_facts(view, job))
    outputs.report(job)
    if job.size:
        say()
        shown: Counter[State] = Counter()
        _show_members(view, _counting(chosen(view, job, wanted), shown))
        _say_rest(view, job, wanted, shown)
    _show_submissions(view, job)
    _show_journal(view.store.journals.of_itself(job.id, SHOWN))


def _counting(members: Iterable[LocalJob], shown: Counter[State]) -> Iterator[LocalJob]:
    for each in members:
        shown[each.state] += 1
        yield each


def _show_members(view: View, members: Iterable[LocalJob]) -> None:
    head = ("id", "state", "attempt", "piece", "witness", "changed", "reason")
    table(head, (_row(view, each) for each in members))


def _facts(view: View, job: GridJob) -> Iterator[tuple[str, object]]:
    record, progress = view.record(job), view.progress(job)
    wish = f"{job.wish} requested" if job.wish else ""
    step = f"step {job.step.value}{f', {wish}' if wish and wish not in progress else ''}"
    yield "grid job", f"{job.id}, {plain(job.job_type)}, of {plain(job.owner)}"
    yield "name", plain(name_of(job))
    yield "key", plain(job.key)
    yield "came from", job.came_from
    yield "led to", ", ".join(str(each.id) for each in led_to(view, job))
    sender = view.store.senders.of(job.id)
    yield "sent by", plain(sender.words) if sender.dn else ""
    yield "VO", plain(f"{sender.vo}, {sender.fqans[0]} (claimed by the proxy)") if sender.vo else ""
    yield "contact", plain(sender.contact)
    yield "status", f"{record['status']} ({progress}; {step})"
    yield "herd", f"{record['herd']}, by {plain(job.splitter)}" if job.splitter else ""
    if job.priority:
        yield "priority", f"{job.priority} (0 is usual, the highest is submitted first)"
    yield "local jobs", counted(record["counts"].items())
    for said in queue_words.summary(view, job):
        yield "queue", plain(f"{said}; seen {ago(view.age(view.seen()))}")
    yield "reason", plain(view.why(job))
    for said in last_lines.sentences(view, job):
        yield "stderr", plain(said)
    yield from _times(record)
    yield "size", _size(job)
    for name, value in job.request.items():
        if value and name not in ("key", "name"):
            yield "asked", plain(f"{name} = {_value(value)}")
    for phase in phases(view, job):
        yield "phase", plain(", ".join(filter(None, (phase.words(), phase.beside()))))


def _sender(view: View, job: GridJob) -> dict[str, Any]:
    """Return who sent a grid job. Only this verb has that: pages are shown to others, too."""
    sender = view.store.senders.of(job.id)
    told: dict[str, Any] = {"dn": sender.dn, "vo": sender.vo, "fqans": list(sender.fqans), "contact": sender.contact}
    told["claimed"] = bool(sender.dn) and not sender.known
    return {"sender": told} if any(told.values()) else {}


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):  # there may be thousands, each long
        few = repr(value[:MOST_RECORDS])
        return few if len(value) <= MOST_RECORDS and len(few) <= LONGEST_VALUE else how_many(len(value), "record")
    return repr(value)


def _times(record: dict[str, Any]) -> list[tuple[str, object]]:
    by = f" by {record['witness']}" if record["witness"] else ""
    at = local_time(record["seen"])
    created = "created", local_time(record["created"])
    return [created, ("ended", at) if record["step"] == "finished" else ("seen", f"{at} ({ago(record['age_s'])}){by}")]


def _size(job: GridJob) -> str:
    if not job.size:
        return ""
    each = f" of {job.events_per_job:,} events" if job.events_per_job else ""
    return f"{how_many(job.size, 'local job')}{each}: {plain(job.why)}"


def _row(view: View, local: LocalJob) -> tuple[object, ...]:
    changed = ago(view.age(local.updated))
    name = f"{local.grid}.{local.n}"
    return name, local.state.value, local.attempt, piece_words(local.piece), local.witness, changed, local.reason


def _say_rest(view: View, job: GridJob, wanted: Wanted, shown: Counter[State]) -> None:
    counts = view.store.counts(job.id)
    left = [
        (state.value, counts[state] - shown[state]) for state in wanted.states if counts.get(state, 0) > shown[state]
    ]
    if left and wanted.limit != sys.maxsize:
        how = "--all shows them" if wanted.limit is None else "--from and --limit show others"
        say(f"… and {counted(left)} ({how})")


def _show_submissions(view: View, job: GridJob) -> None:
    found = sorted(view.store.submissions(*SUBMISSION_STATES, grid=job.id), key=lambda each: each.k)
    if not found:
        return
    say()
    rows = (
        (s.k, _local_jobs(s), s.state, s.batch_id, s.mark, ago(view.age(s.updated)), s.reason) for s in found[-SHOWN:]
    )
    table(("submission", "local jobs", "state", "batch job", "mark", "changed", "reason"), rows)


def _local_jobs(submission: Submission) -> str:
    carriers = f", in {how_many(submission.carriers, 'carrier')}" if submission.carriers else ""
    return f"{submission.size:,}{carriers}"


# A local job


def _show_local(view: View, job: GridJob, local: LocalJob) -> None:
    facts(_local_facts(view, job, local))
    attempts = view.store.attempts(job.id, n=local.n)
    if attempts:
        say()
        head = ("attempt", "submission", "host", "started", "ended", "CPU s", "memory", "exit", "verdict", "reason")
        table(head, (_attempt_row(view, each) for each in attempts))
    _show_journal(view.store.journals.of(job.id, local.n))


def _local_facts(view: View, job: GridJob, local: LocalJob) -> Iterator[tuple[str, object]]:
    yield "local job", f"{job.id}.{local.n}, {plain(job.job_type)}, of {plain(job.owner)}"
    yield "state", f"{local.state.value}{f', {local.wish} requested' if local.wish else ''}"
    yield "reason", plain(local.reason)
    yield from _times(view.local_record(job, local))
    yield "changed", f"{local_time(local.updated)}{f' by {local.witness}' if local.witness else ''}"
    yield "piece", plain(piece_words(local.piece, whole=True))
    yield "split from", "" if local.piece.source is None else f"{job.id}.{local.piece.source}"
    for name, value in local.piece.variables.items():
        yield "variable", plain(f"{name} = {value}")
    for name, value in local.piece.attributes.items():
        yield "own", plain(f"{name} = {value!r}")
    for name, value in local.changed.items():
        yield "asks for", plain(f"{name} = {value!r}")
    yield "arguments", plain(" ".join(local.piece.arguments)) if local.piece.files else ""
    yield "attempts", spent_words(local.spent, view.site.limits.attempts)
    yield "recovery", plain(" ".join(local.recovery))
    for phase in phases(view, job, local.n):
        yield "phase", plain(phase.words())
    lost = view.store.publications.refused(job.id, local.n)
    yield "published", counted((word, count) for word, count in lost._asdict().items() if count)


def _attempt_row(view: View, attempt: Attempt) -> tuple[object, ...]:
    record, sent = exit_record(attempt), view.store.submission(attempt.grid, attempt.k)
    carrier = f", carrier {attempt.carrier}" if attempt.carrier else ""
    place, verdict = f"s{attempt.k}, index {attempt.idx}{carrier}", attempt.verdict or "none yet"
    times = local_time(attempt.started), "", ""
    if record:
        times = local_time(record.started), local_time(record.ended), f"{record.cpu:.1f}"
    end = "" if record is None else record.code if record.signal is None else f"signal {record.signal}"
    memory = memory_words(record, sent.asked if sent else {})
    return attempt.attempt, place, attempt.host, *times, memory, end, verdict, attempt.reason


def _show_journal(journal: Sequence[Journal]) -> None:
    if journal:
        say()
        table(("at", "change", "witness", "reason"), map(_journal_row, journal))


def _journal_row(line: Journal) -> tuple[object, ...]:
    change = f"{line.was} → {line.now}" if line.was else line.now
    return local_time(line.at), change, line.witness, line.reason

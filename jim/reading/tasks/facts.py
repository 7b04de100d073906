"""Reads one task for people: its sources, waves, test, fixes, and why its pieces have failed."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jim.jobs import Alike
from jim.model import Reason, State
from jim.reading.groups import MOST_SHOWN, Group, alike, grouped
from jim.reading.view import View
from jim.statusdb.list_filters import TaskFailures
from jim.statusdb.task_rows import Output, OutputState, PieceState, Source, Task, Todo, Wave
from jim.statusdb.task_spec import SourceSpec
from jim.statusdb.tasks.outputs import pool_of

MOST_READ = 10_000  # failed pieces whose reasons are grouped
PAST = {Todo.NOTHING: "kept", Todo.READ: "read", Todo.STORE: "stored", Todo.WITHDRAW: "moved aside"}


class Failure(NamedTuple):
    """Pieces that have failed for the same reason except for numbers and names."""

    reason: str  # * stands for the differences
    times: int
    wordings: int
    example: int  # piece


class SourceSeen(NamedTuple):
    """What fills a pool, and what is known of it."""

    kind: str
    what: str
    closed: str  # since when nothing more comes
    looked: str  # when it was last looked at with success
    reason: str  # why it cannot be looked at, since `since`
    since: str
    closing: str  # what closes it
    unstable: int  # files that have still to come to rest
    new: int  # items that it was the first to bring


class WaveSeen(NamedTuple):
    """One wave of a task, or one grid job of its test, with the states of its local jobs."""

    wave: Wave
    counts: Mapping[State, int]


def failures(view: View, task: Task) -> tuple[list[Failure], int]:
    """Return the most frequent reasons of failed pieces, and how many pieces have failed for others."""
    failed = view.store.tasks.counts(task.id, "pieces").get(PieceState.FAILED, 0)
    read = view.store.seen_tasks.failures(task.id, MOST_READ) if failed else []
    found = grouped([Alike(Reason(each.kind, {}, each.reason), each.times) for each in read])
    shown = [Failure(*each, example=_example(read, each)) for each in found[:MOST_SHOWN]]
    return shown, failed - sum(each.times for each in shown)


def _example(read: Sequence[TaskFailures], group: Group) -> int:
    """Return the first piece of a group."""
    return min(each.first for each in read if group.words == each.reason or group.words == alike(each.reason))


def sources(view: View, task: Task) -> list[SourceSeen]:
    """Return the sources of a task."""
    found, new = view.store.pools.sources(task.id), view.store.tasks.new_of_sources(task.id)
    return [_source(task, each, spec, new.get(each.k, 0)) for each, spec in zip(found, task.spec.sources, strict=True)]


def _source(task: Task, each: Source, spec: SourceSpec, new: int) -> SourceSeen:
    unstable = json.loads(each.waits)["count"] if each.waits else 0
    known = each.closed, each.looked, each.reason, each.since
    return SourceSeen(each.kind, what_of(spec), *known, _closing(task, spec), unstable, new)


def _closing(task: Task, spec: SourceSpec) -> str:
    """Return what closes a source."""
    if spec.kind == "events":
        return "the first look, which knows all events"
    if spec.kind == "task":
        return f"task {spec.task}, once it brings nothing more"
    by_hand = f"`jim task close {task.name}`"
    if spec.kind in ("list", "command"):
        return f"the line `closed`, or {by_hand}"
    if spec.kind == "dataset":
        return f"the catalogue, or {by_hand}"
    return f"a file `{spec.closed_by}`, or {by_hand}" if spec.closed_by else by_hand


def what_of(source: SourceSpec) -> str:
    """Return a source in words."""
    if source.kind == "events":
        return f"events {source.first_event:,} to {source.first_event + source.events - 1:,}"
    if source.kind == "task":
        return f"{source.task}.{source.output}"
    place = source.place
    return f"{source.kind} {place if isinstance(place, str) else shlex.join(place)}"


def live_waves(view: View, task: Task) -> list[WaveSeen]:
    """Return the waves of a task that are not settled, with the states of their local jobs."""
    return _with_counts(view, [each for each in view.store.waves.live(task.id) if not each.t])


def _with_counts(view: View, waves: Sequence[Wave]) -> list[WaveSeen]:
    counts = view.store.seen.tallies([each.grid for each in waves if each.grid])
    return [WaveSeen(each, counts.get(each.grid, {})) for each in waves]


class Stream(NamedTuple):
    """An output pool of a task: where its files are stored, and what is counted of it by state."""

    name: str
    files: str  # pattern of their names
    store: str  # empty: in the work directory
    counts: Mapping[str, int]


def streams(view: View, task: Task) -> list[Stream]:
    """Return the output pools of a task."""
    return [
        Stream(each.name, each.files, each.store, view.store.tasks.counts(task.id, f"output {each.name}"))
        for each in task.spec.outputs
    ]


def to_come(view: View, source: Source) -> tuple[int, int]:
    """Return how many outputs of the task before are still promised, and how many are still to be stored."""
    upstream = view.store.tasks.one(source.upstream) if source.upstream else None
    if upstream is None:
        return 0, 0
    counts = view.store.tasks.counts(upstream.id, pool_of(source.stream))
    stored = upstream.spec.stores(source.stream)
    return counts.get(OutputState.PROMISED, 0), counts.get(OutputState.VERIFIED, 0) if stored else 0


def not_kept(view: View, task: Task, limit: int) -> list[str]:
    """Return, in words, some outputs that could not be read or stored so far, each with the reason."""
    return [trouble(task, each) for each in view.store.outputs.in_trouble(task.id, limit)]


def trouble(task: Task, output: Output) -> str:
    """Return, in words, why an output could not be read or stored so far."""
    words = f"output {output.stream} of piece {task.name}/{output.p} is not {PAST[output.todo]}"
    return f"{words}: {output.reason}"


class Sums(NamedTuple):
    """What has to be counted in the rows of a task: it takes a while for a million items."""

    bytes_stored: int
    removed: int  # inputs that were removed since they were worked on
    stale: int  # inputs that have changed since


def sums(view: View, task: Task) -> Sums:
    """Count what no tally has."""
    removed, stale = view.store.seen_tasks.inputs_since(task.id)
    return Sums(view.store.seen_tasks.bytes_stored(task.id), removed, stale)

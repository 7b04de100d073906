"""Reads what people are shown of tasks: lists, one task, its items and pieces."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from jim.clock import age_seconds
from jim.errors import UnknownJob
from jim.model import State
from jim.reading.quantities import ago
from jim.reading.view import View
from jim.statusdb.task_rows import Item, PieceRow, PieceState, Task, Wave

REASONS_SHOWN = 5
COUNTED = 10_000  # failed pieces whose reasons are counted


class Facts(NamedTuple):
    """What is counted of a task."""

    items: Mapping[str, int]
    pieces: Mapping[str, int]
    open: bool  # more items may come
    queued: int  # pieces on the way that have not started


def named(view: View, name: str) -> Task:
    """Return a task by its name, or that of a piece of it: `mc/1203`."""
    return view.store.task_named(name.partition("/")[0])


def facts(view: View, task: Task) -> Facts:
    """Return what is counted of a task, without reading its items or pieces."""
    counts = {what: view.store.task_counts(task.id, what) for what in ("items", "pieces")}
    still_open = not all(each.closed for each in view.store.sources(task.id))
    waves = [each for each in view.store.live_waves(task.id) if not each.t]
    return Facts(counts["items"], counts["pieces"], still_open, sum(_queued(view, each) for each in waves))


def _queued(view: View, wave: Wave) -> int:
    counts = view.store.counts(wave.grid) if wave.grid else {}
    started = (State.RUNNING, State.SUSPENDED, State.COMPLETING)
    return sum(n for state, n in counts.items() if not state.final and state not in started) if counts else wave.size


def record(view: View, task: Task) -> dict[str, Any]:
    """Return a task for programs."""
    found, spec = facts(view, task), task.spec
    return {
        "name": task.name,
        "summary": spec["summary"],
        "state": task.state.value,
        "outcome": task.outcome,
        "reason": task.reason,
        "open": found.open,
        "items": dict(found.items),
        "pieces": dict(found.pieces),
        "on_the_way": found.pieces.get(PieceState.SENT, 0),
        "queued": found.queued,
        "throttle": dict(task.throttle),
        "priority": task.priority,
        "tests": task.tests,
        "tested": bool(task.tested) and task.tested == spec["to_test"],
        "created": task.created,
        "updated": task.updated,
        "owner": task.owner,
    }


def in_detail(view: View, task: Task) -> dict[str, Any]:
    """Return a task with its sources, groups, waves, reasons of failures and journal, for programs."""
    sources = [
        each._asdict() | {"what": what_of(spec)}
        for each, spec in zip(view.store.sources(task.id), task.spec["source"], strict=True)
    ]
    return record(view, task) | {
        "file": task.spec["file"],
        "file_differs": file_differs(task),
        "sources": sources,
        "groups": groups(view, task),
        "failures": [reason._asdict() for reason in failures(view, task)],
        "waves": [_wave(each) for each in view.store.waves(task.id)],
        "journal": [line._asdict() for line in view.store.task_journal(task.id)],
    }


def _wave(wave: Wave) -> dict[str, Any]:
    kept = ("w", "size", "grid", "reason", "created")
    return {"test": wave.t, **{name: getattr(wave, name) for name in kept}, "state": wave.state.value}


def what_of(source: Mapping[str, Any]) -> str:
    """Return a source in words."""
    if source["kind"] == "events":
        first = source["first_event"]
        return f"events {first:,} to {first + source['events'] - 1:,}"
    told = source[source["kind"]]
    return f"{source['kind']} {told if isinstance(told, str) else shlex.join(told)}"


def groups(view: View, task: Task) -> list[dict[str, Any]]:
    """Return what is counted of each group."""
    found = {each.grp: {"group": each.grp, "closed": each.closed} for each in view.store.groups(task.id)}
    counted: dict[str, dict[str, dict[str, int]]] = {grp: {"items": {}, "pieces": {}} for grp in found}
    for grp, what, state, count in view.store.task_counts_by_group(task.id):
        counted.setdefault(grp, {"items": {}, "pieces": {}})[what][state] = count
    return [found.get(grp, {"group": grp, "closed": ""}) | counts for grp, counts in counted.items()]


class Failure(NamedTuple):
    """Pieces that have failed for the same reason."""

    reason: str
    times: int
    example: str  # t/p = G.n


def failures(view: View, task: Task) -> list[Failure]:
    """Return the most frequent reasons of failed pieces, each with an example."""
    found: dict[str, list[PieceRow]] = {}
    for each in view.store.failed_pieces(task.id, COUNTED):
        found.setdefault(each.reason, []).append(each)
    most = sorted(found.items(), key=lambda each: -len(each[1]))[:REASONS_SHOWN]
    return [Failure(reason, len(those), _example(view, task, those[0])) for reason, those in most]


def _example(view: View, task: Task, piece: PieceRow) -> str:
    local = local_job_of(view, piece)
    return f"{task.name}/{piece.p}{f' = {local}' if local else ''}"


def local_job_of(view: View, piece: PieceRow) -> str:
    """Return the local job that a piece is; empty: it is in no grid job."""
    waves = [each for each in view.store.waves(piece.task) if not each.t and each.w == piece.wave and piece.wave]
    return f"{waves[0].grid}.{piece.n}" if waves and waves[0].grid else ""


def file_differs(task: Task) -> bool:
    """Tell whether the task file is no longer what runs; a file that cannot be read differs not."""
    with suppress(OSError):
        text = Path(task.spec["file"]).read_bytes()
        return hashlib.sha256(text).hexdigest() != str(task.spec["file_sha256"])
    return False


# Items and pieces


def items(view: View, task: Task, glob: str, state: str, limit: int) -> list[Item]:
    """Return items by a pattern of their names."""
    return view.store.find_items(task.id, glob, state, limit)


def piece_named(view: View, name: str) -> tuple[Task, PieceRow]:
    """Return the piece that `t/p` names."""
    task, number = named(view, name), name.partition("/")[2]
    piece = view.store.piece(task.id, int(number)) if number.isdecimal() else None
    if piece is None:
        raise UnknownJob(f"there is no piece {name}: {task.name} has {task.next_piece:,}")
    return task, piece


def piece_record(view: View, piece: PieceRow) -> dict[str, Any]:
    """Return a piece with its items, for programs."""
    parts = view.store.parts_of(piece.task, piece.p)
    known = view.store.items(piece.task, {each.item for each in parts})
    masks = [{name: value for name, value in part._asdict().items() if value is not None} for part in parts]
    told = [mask | {"item": known[part.item].name} for mask, part in zip(masks, parts, strict=True)]
    return {
        "piece": piece.p,
        "group": piece.grp,
        "state": piece.state.value,
        "wave": piece.wave,
        "local_job": local_job_of(view, piece),
        "attempts_before": piece.attempts,
        "reason": piece.reason,
        "items": told,
    }


def age(view: View, then: str) -> str:
    """Return how long ago something was."""
    return ago(age_seconds(then, view.now())) if then else ""

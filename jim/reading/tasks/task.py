"""Reads what people are shown of tasks: lists, one task, its items and pieces."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from jim.clock import age_seconds, as_utc
from jim.errors import JimError, UnknownJob
from jim.files import read_regular, resolved
from jim.model import State
from jim.reading.hosts import avoided_now
from jim.reading.quantities import ago
from jim.reading.tasks.attempts import attempts
from jim.reading.tasks.facts import Failure, failures, sources, sums
from jim.reading.tasks.hindrances import hindrances, without_room
from jim.reading.tasks.pace import Eta, etas, spreads, unplanned
from jim.reading.tasks.records import FailureSeen, GroupCounts, ItemPart, PieceInDetail, TaskInDetail, TaskSeen
from jim.reading.tasks.tests import test_facts
from jim.reading.tasks.words import planned
from jim.reading.view import View
from jim.statusdb.task_rows import Item, PieceRow, PieceState, Task, TaskState, Wave
from jim.statusdb.tasks.item_names import is_pattern, patterns
from jim.tasks.effects import fix_of

AT_ONCE = 1000  # items
LONGEST_TASK_FILE = 1024 * 1024


class Facts(NamedTuple):
    """What is counted of a task."""

    items: Mapping[str, int]
    pieces: Mapping[str, int]
    open: bool  # more items may come
    queued: int  # pieces on the way that have not started


def named(view: View, name: str) -> Task:
    """Return a task by its name, or that of a piece of it: `mc/1203`."""
    return view.store.tasks.named(name.partition("/")[0])


def facts(view: View, task: Task) -> Facts:
    """Return what is counted of a task, without reading its items or pieces."""
    counts = {what: view.store.tasks.counts(task.id, what) for what in ("items", "pieces")}
    still_open = not all(each.closed for each in view.store.pools.sources(task.id))
    waves = [each for each in view.store.waves.live(task.id) if not each.t]
    return Facts(counts["items"], counts["pieces"], still_open, sum(_queued(view, each) for each in waves))


def _queued(view: View, wave: Wave) -> int:
    counts = view.store.counts(wave.grid) if wave.grid else {}
    started = (State.RUNNING, State.SUSPENDED, State.COMPLETING)
    return sum(n for state, n in counts.items() if not state.final and state not in started) if counts else wave.size


def seen(view: View, tasks: Sequence[Task]) -> list[TaskSeen]:
    """Return tasks, with what is counted of them."""
    if not tasks:
        return []
    ends = etas(view, tasks, view.store.seen_tasks.counts([each.id for each in tasks]))
    disks = without_room(view)
    return [_seen(view, each, ends.get(each.id), disks) for each in tasks]


def seen_alone(view: View, task: Task) -> TaskSeen:
    """Return a task, with what is counted of it."""
    return seen(view, [task])[0]


def pieces_of(view: View, task: Task, counts: Facts) -> int | None:
    """Count the pieces that a task has, with those that are still to be planned; None: nobody knows yet."""
    to_plan = None if counts.open else unplanned(view, task, counts.items)
    return None if to_plan is None else planned(counts.pieces) + to_plan


def _seen(view: View, task: Task, eta: Eta | None, disks: Sequence[str]) -> TaskSeen:
    counts, spec = facts(view, task), task.spec
    hindered = tuple(hindrances(view, task, counts.items, counts.pieces, disks))
    why, hinders = task.reason, hindered[0].words if hindered else ""
    return TaskSeen(
        name=task.name,
        summary=spec.summary,
        state=task.state,
        outcome=task.outcome,
        reason=hinders or why if task.state is TaskState.RUNNING else why or hinders,
        hindrances=hindered,
        open=counts.open,
        items=counts.items,
        pieces=counts.pieces,
        pieces_in_all=pieces_of(view, task, counts),
        campaigns=spec.makes_events,
        outputs={each.name: outputs(view, task, each.name) for each in spec.outputs},
        on_the_way=counts.pieces.get(PieceState.SENT, 0),
        queued=counts.queued,
        throttle=task.throttle,
        eta=eta,
        priority=task.priority,
        tests=task.tests,
        tested=bool(task.tested) and task.tested == spec.to_test,
        created=task.created,
        updated=task.updated,
        owner=task.owner,
    )


def in_detail(view: View, task: Task) -> TaskInDetail:
    """Return a task with its sources, groups, waves, reasons of failures and journal."""
    return TaskInDetail(
        task=seen_alone(view, task),
        sums=sums(view, task),
        test=test_facts(view, task),
        spreads=spreads(view, task),
        fixes=fixes(view, task.id),
        avoided_hosts=sorted(avoided_now(view)),
        file=task.spec.file,
        file_differs=file_differs(task),
        sources=sources(view, task),
        groups=groups(view, task),
        failures=[_failure(view, task, each) for each in failures(view, task)[0]],
        waves=view.store.waves.all(task.id),
        journal=view.store.tasks.journal(task.id),
    )


def outputs(view: View, task: Task, stream: str) -> dict[str, int]:
    """Return what is counted of an output pool, by state."""
    return view.store.tasks.counts(task.id, f"output {stream}")


def groups(view: View, task: Task) -> list[GroupCounts]:
    """Return what is counted of each group."""
    closed = {each.grp: each.closed for each in view.store.pools.groups(task.id)}
    counted: dict[str, dict[str, dict[str, int]]] = {grp: {"items": {}, "pieces": {}} for grp in closed}
    for grp, what, state, count in view.store.tasks.counts_by_group(task.id):
        counted.setdefault(grp, {"items": {}, "pieces": {}}).setdefault(what, {})[state] = count
    return [GroupCounts(grp, closed.get(grp, ""), counts) for grp, counts in counted.items()]


def _failure(view: View, task: Task, each: Failure) -> FailureSeen:
    piece = view.store.pieces.one(task.id, each.example)
    local = local_job_of(view, piece) if piece else ""
    name = f"{task.name}/{each.example}"
    return FailureSeen(each.reason, each.times, f"{name} = {local}" if local else name)


def local_job_of(view: View, piece: PieceRow) -> str:
    """Return the local job that a piece is; empty: it is in no grid job."""
    wave = view.store.waves.one(piece.task, piece.wave) if piece.wave else None
    return f"{wave.grid}.{piece.n}" if wave and wave.grid else ""


def file_differs(task: Task) -> bool:
    """Tell whether the task file is no longer what runs; a file that cannot be read differs not."""
    with suppress(OSError, ValueError, JimError):
        text = read_regular(resolved(Path(task.spec.file)), LONGEST_TASK_FILE)
        return hashlib.sha256(text).hexdigest() != task.spec.file_sha256
    return False


# Items and pieces


def items(view: View, task: Task, glob: str, state: str) -> Iterator[Item]:
    """Yield items by a pattern of their names, however many there are; or by names, which may have brackets."""
    for pattern in patterns(glob):
        after = 0
        while is_pattern(pattern) and (items := view.store.pools.next_items(task.id, pattern, state, after, AT_ONCE)):
            yield from items
            after = items[-1].id
        one = None if after else view.store.pools.item_named(task.id, pattern)
        if one is not None and state in ("", one.state):
            yield one


def piece_named(view: View, name: str) -> tuple[Task, PieceRow]:
    """Return the piece that `t/p` names."""
    task, number = named(view, name), name.partition("/")[2]
    piece = view.store.pieces.one(task.id, int(number)) if number.isdecimal() else None
    if piece is None:
        raise UnknownJob(f"there is no piece {name}: {task.name} has {task.next_piece:,}")
    return task, piece


def piece_in_detail(view: View, piece: PieceRow) -> PieceInDetail:
    """Return a piece with its items and attempts."""
    parts = view.store.pieces.parts_of(piece.task, piece.p)
    known = view.store.pools.items(piece.task, {each.item for each in parts})
    return PieceInDetail(
        piece=piece.p,
        group=piece.grp,
        state=piece.state,
        wave=piece.wave,
        local_job=local_job_of(view, piece),
        planned=as_utc(piece.planned),
        missing=piece.missing,
        attempts_before=piece.attempts,
        attempts=attempts(view, piece),
        seconds=piece.seconds or None,
        fixes=fixes(view, piece.task, _fix_of(view, piece)),
        changes=piece.record.get("changes", {}),
        reason=piece.reason,
        items=[ItemPart(known[each.item].name, each) for each in parts],
        outputs=view.store.outputs.of_piece(piece.task, piece.p),
    )


def fixes(view: View, task: int, upto: int | None = None) -> dict[str, dict[str, Any]]:
    """Return the fixes of a task by their numbers, up to one or all, for programs."""
    return {str(number): changes for number, changes in view.store.tasks.fixes(task, upto).items()}


def _fix_of(view: View, piece: PieceRow) -> int:
    """Return the last fix that the attempts at a piece have; 0: none."""
    wave = view.store.waves.one(piece.task, piece.wave) if piece.wave else None
    return fix_of(view.store, wave, piece.n) if wave else 0


def age(view: View, then: str) -> str:
    """Return how long ago something was."""
    return ago(age_seconds(then, view.now())) if then else ""

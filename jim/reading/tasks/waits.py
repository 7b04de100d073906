"""Explains what a task waits for: what, on which evidence, since when, and what happens next."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from jim.model import Step
from jim.reading.avoided import hosts
from jim.reading.before_submission import Wait, without_room
from jim.reading.job.as_known import as_known
from jim.reading.quantities import how_many, span
from jim.reading.tasks.facts import to_come, trouble, what_of
from jim.reading.tasks.hindrances import broken, upstream_idle, waiting_items
from jim.reading.tasks.promises import ONLY_CANCEL, STORED, missing, of_failed
from jim.reading.tasks.releases import why_not_released
from jim.reading.tasks.task import facts, local_job_of
from jim.reading.tasks.unfinished_work import MAY_RETRY, undone
from jim.reading.view import View
from jim.statusdb.list_filters import PiecesAsked
from jim.statusdb.task_rows import (
    EMPTY,
    LIVE_TASKS,
    SPOILT,
    UNPRINTABLE,
    USED,
    ItemState,
    Output,
    OutputState,
    PieceRow,
    PieceState,
    Source,
    Task,
    TaskState,
    Todo,
)
from jim.statusdb.tasks.outputs import another_fact, pool_of
from jim.tasks.effects import ENDED, OLDER, gone, is_older, is_tried
from jim.tasks.release_room import Room
from jim.tasks.throttle_row import in_words

LAST = "the last look"
TROUBLES = 5  # outputs of which people are told
NEXT = {
    TaskState.CONFIGURED: "`jim task test {name}` tries it out; `jim task start --untested {name}` begins without",
    TaskState.READY: "`jim task start {name}` begins",
    TaskState.PAUSED: "`jim task resume {name}` goes on",
    TaskState.CANCELLING: "it is cancelled once all its local jobs have ended",
    TaskState.CANCELLED: "nothing more happens; `jim task remove {name}` forgets it",
    TaskState.FINISHED: "nothing more happens, unless a piece is tried again",
}
AGAIN = "`jim task create` takes files that have changed, and `jim task test {name}` tries it out again"
AFTER_TEST = {
    True: "once it has ended, the task is ready, or configured again",
    False: "it changes nothing of the task, which finishes only after it; the journal tells how it went",
}
KEPT_LATER = "mend that, or move away another file of its name; it is tried again, at the latest after ten minutes"
STORE_BACK = "mount it or put it back; it is tried again, at the latest after ten minutes"
ACCEPT_STORE = "; or say `jim task resume {name}` if the directory that is there now is meant"
LOOKED_AGAIN = "it is looked at again; no item changes meanwhile"
ACCEPT = "; mount it, or say `jim task reopen {name}` if the directory that is there now is meant"
DAMAGED = "unless it comes back as it was, its piece fails; a few are tried again, others by `jim task retry {name}`"
REDO = "`jim task redo {name}/{p} --with-all` makes it again, with all that was made of it"


def next_step(task: Task) -> str:
    """Return what happens next to a task in one of the states of `NEXT`, or who has to say so."""
    again = task.state is TaskState.CONFIGURED and task.tests
    words = ONLY_CANCEL if is_older(task) else AGAIN if again else NEXT[task.state]
    return words.format(name=task.name)


def waits(view: View, task: Task) -> Iterator[Wait]:
    """Return each thing that a task waits for."""
    heart = view.heart()
    if not heart.beats and (task.state in LIVE_TASKS or (heart.refuses and task.state not in ENDED)):
        yield Wait(heart.words, heart.next, "the heartbeat")
    if task.state in NEXT:
        words = f"task {task.name} is {task.state.value}{f', {task.outcome}' if task.outcome else ''}"
        why = f": {task.reason}" if task.reason else ""
        yield Wait(words + why, next_step(task), STORED, task.updated)
    if task.state in (TaskState.TESTING, TaskState.RUNNING):
        yield from without_room(view)
    yield from as_known(view, heart, _under_way(view, task))
    yield from undone(view, task)
    yield from as_known(view, heart, _waves(view, task))
    yield from _outputs(view, task)


def _under_way(view: View, task: Task) -> Iterator[Wait]:
    """Return what only a keeper sees and moves."""
    if is_tried(task):
        yield from _test(view, task)
    if task.state is TaskState.RUNNING:
        yield from _sources(view, task)
        yield from _items(view, task)
        yield from _pieces(view, task)
        yield from hosts(view)


def _outputs(view: View, task: Task) -> Iterator[Wait]:
    """Return outputs that could not be kept so far."""
    some = view.store.outputs.in_trouble(task.id, TROUBLES + 1)
    for each in some[:TROUBLES]:
        yield Wait(trouble(task, each), _kept_later(view, task, each), STORED)
    if len(some) > TROUBLES:
        yield Wait("more outputs cannot be kept", "they are tried again", STORED)


def _kept_later(view: View, task: Task, output: Output) -> str:
    """Return what lets an output be kept."""
    if output.tries == USED:
        return REDO.format(name=task.name, p=output.p)
    if output.tries == SPOILT:
        return DAMAGED.format(name=task.name)
    if output.todo is Todo.STORE and view.store.fact(another_fact(task.id, output.stream)):
        return STORE_BACK + (ACCEPT_STORE.format(name=task.name) if task.state is TaskState.RUNNING else "")
    return KEPT_LATER


def _test(view: View, task: Task) -> Iterator[Wait]:
    live = [each.grid for each in view.store.waves.live(task.id) if each.t == task.tests and each.grid]
    grids, testing = list(map(str, sorted(live))), task.state is TaskState.TESTING
    what = f"test {task.tests} runs: {'grid job' if len(grids) == 1 else 'grid jobs'} {', '.join(grids)}"
    yield Wait(what if grids else f"test {task.tests} begins", AFTER_TEST[testing], STORED, task.updated)
    for source in view.store.pools.sources(task.id) if testing else ():
        yield from _unstable(view, source)


def _sources(view: View, task: Task) -> Iterator[Wait]:
    for source, spec in zip(view.store.pools.sources(task.id), task.spec.sources, strict=True):
        if source.closed:
            continue
        if source.reason:
            what = f"{what_of(spec)} cannot be looked at: {source.reason}"
            next_ = LOOKED_AGAIN + (
                ACCEPT.format(name=task.name) if view.store.fact(another_fact(task.id, source.k)) else ""
            )
            yield Wait(what, next_, "the first such look", source.since)
        else:
            next_ = f"it is looked at every {span(spec.every_seconds)}"
            if source.upstream:
                next_ = upstream_idle(view, source) or "what that task brings arrives at once"
            what = f"{'output ' if source.upstream else ''}{what_of(spec)}"
            yield Wait(f"{what} is open: more may come", next_, LAST, source.looked)
            yield from _unstable(view, source)


def _unstable(view: View, source: Source) -> Iterator[Wait]:
    """Return the files that have still to come to rest; first those that hold groups open whose end was seen."""
    waits: dict[str, Any] = json.loads(source.waits or '{"count": 0, "some": {}}')
    told = set()
    for grp, name, why in waits.get("held", ()):
        group = None if grp is None else view.store.pools.group(source.task, grp)
        if not (group and group.closed):
            told.add(name)
            what = "the source" if grp is None else f"group {grp}"
            next_ = f"it is taken once it has not changed for so long; {what} is closed once all its files are taken"
            seen = f"the end of {what} was seen, but file {name} is not taken yet: {why}"
            yield Wait(seen, next_, LAST, source.looked)
    others = waits["count"] - len(told) - 1
    more = f", and {how_many(others, 'other file')}" if others > 0 else ""
    for name, why in [each for each in waits["some"].items() if each[0] not in told][:1]:
        next_ = "it is taken once it has not changed for so long; until then its group stays open"
        if why == EMPTY:
            next_ = "it is taken once it has content and comes to rest; its group does not stay open for it"
        if why == UNPRINTABLE:
            next_ = "it is never taken; rename it; its group does not stay open for it"
        yield Wait(f"file {name} is not taken yet: {why}{more}", next_, LAST, source.looked)


def _items(view: View, task: Task) -> Iterator[Wait]:
    split = task.spec.split
    count = view.store.tasks.counts(task.id, "items").get(ItemState.AVAILABLE, 0)
    if not count or split.splitter is None:
        return
    oldest = min((since for _, since in view.store.pools.oldest_available(task.id)), default=0.0)
    waited = span(max(0.0, view.store.clock.steady() - oldest))
    limit = split.max_wait_seconds
    soon = f"after {span(limit)}, or once" if limit else "once"
    its, make = ("its", "it makes") if count == 1 else ("their", "they make")
    what = f"{waiting_items(count, split)}, {'' if count == 1 else 'the oldest '}for {waited}"
    yield Wait(what, f"{soon} {its} group is closed, {make} a piece that is not full", STORED)


def _pieces(view: View, task: Task) -> Iterator[Wait]:
    found = facts(view, task)
    yield from _promised(view, task, found.pieces.get(PieceState.WAITING, 0), found.items.get(ItemState.PROMISED, 0))
    ready, sent, room = found.pieces.get(PieceState.READY, 0), found.pieces.get(PieceState.SENT, 0), Room(view, task)
    throttle, limits = room.row.throttle, room.row.limits
    if ready:
        what = f"{how_many(ready, 'piece')} {'is' if ready == 1 else 'are'} ready"
        yield why_not_released(view, task, what, room, found.queued)
    elif throttle.may_try_again and not sent:
        due = span(max(0.0, throttle.decided + limits.probe_seconds - view.store.clock.steady()))
        next_ = f"in {due} that is decided: if few have failed, what failed before is tried again"
        well = throttle.ended - throttle.failed
        yield Wait(f"most attempts have failed, and {well} of the last {throttle.ended} ended well", next_, STORED)
    elif throttle.probes and sent > room.row.allowance:
        what = f"{how_many(sent, 'piece')} on the way; most attempts fail: {in_words(room.row)}"
        next_ = f"one of those that have failed is tried again every {span(limits.probe_seconds)}"
        yield Wait(what, f"{next_}, and more once attempts end well", STORED)


def _promised(view: View, task: Task, pieces: int, items: int) -> Iterator[Wait]:
    """Return what waits for promises: pieces, else items that are in no piece."""
    if pieces:
        yield _promises(view, task, pieces)
    elif items:
        yield _items_promised(view, task, items)


def _promises(view: View, task: Task, waiting: int) -> Wait:
    """Tell what pieces wait for that is only promised, and what is broken of that."""
    told, again = [], ""
    for source, spec in zip(view.store.pools.sources(task.id), task.spec.sources, strict=True):
        counts = view.store.tasks.counts(source.upstream, pool_of(source.stream)) if source.upstream else {}
        promised, unstored = to_come(view, source)
        states = {"promised": promised, "to be stored": unstored, "broken": counts.get(OutputState.BROKEN, 0)}
        these = ", ".join(f"{count:,} {state}" for state, count in states.items() if count)
        told += [f"; in all of {source.stream}: {these}"] if these else []
        again += "".join(f"{each}; " for each in (broken(view, source, spec), upstream_idle(view, source)) if each)
    verb = "waits" if waiting == 1 else "wait"
    what = f"{how_many(waiting, 'piece')} {verb} for promises{''.join(told)}"
    first = view.store.seen_tasks.pieces_page(task.id, PiecesAsked(states=(PieceState.WAITING,)), 1)
    named = f"; `jim task explain {task.name}/{first[0].p}` names those of the first piece" if first else ""
    return Wait(what, f"{again}a piece is ready once all of its files are there{named}", STORED)


def _items_promised(view: View, task: Task, count: int) -> Wait:
    """Tell of promised items that are in no piece."""
    kinds = zip(view.store.pools.sources(task.id), task.spec.sources, strict=True)
    again = "; ".join(told for source, spec in kinds if (told := broken(view, source, spec)))
    what = f"{how_many(count, 'item')} {'is' if count == 1 else 'are'} promised, and in no piece yet"
    return Wait(what, again or "pieces are planned as more is promised, or once their group is closed", STORED)


def _waves(view: View, task: Task) -> Iterator[Wait]:
    live = [wave for wave in view.store.waves.live(task.id) if not wave.t]
    for wave in live[:TROUBLES]:
        if not wave.grid:
            why = f": {wave.reason}" if wave.reason else ""
            next_ = ONLY_CANCEL.format(name=task.name) if wave.reason == OLDER else "the keeper hands it in"
            yield Wait(f"wave {wave.w} is to be handed in{why}", next_, STORED, wave.created)
            continue
        counts = view.store.counts(wave.grid)
        left = sum(count for state, count in counts.items() if not state.final) if counts else wave.size
        verb = "has" if left == 1 else "have"
        of = f"{left:,} of {how_many(wave.size, 'local job')} {verb} not ended" if left else "its outputs are collected"
        if not left and view.store.grid_job(wave.grid).step is Step.FINISHED:
            of = "its outputs are still to be stored"
        yield Wait(
            f"wave {wave.w}, grid job {wave.grid}: {of}", f"`jim explain {wave.grid}` tells more", STORED, wave.created
        )
    if more := len(live) - TROUBLES if len(live) > TROUBLES else 0:
        what = f"{how_many(more, 'more wave')} {'has' if more == 1 else 'have'} not ended"
        yield Wait(what, f"`jim task show {task.name}` names them", STORED)


def of_piece(view: View, task: Task, piece: PieceRow) -> Iterator[Wait]:
    """Return what a piece waits for."""
    local = local_job_of(view, piece)
    if piece.state is PieceState.SENT and local:
        yield Wait(f"it is local job {local}", f"`jim explain {local}` tells more", STORED)
    elif piece.state is PieceState.SENT:
        yield Wait(f"wave {piece.wave} is to be handed in", "the keeper hands it in", STORED)
    elif piece.state is PieceState.WAITING:
        yield from missing(view, task, piece)
    elif piece.state is PieceState.READY:
        next_ = (
            "it is released as the throttle allows" if task.state is TaskState.RUNNING else f"the task is {task.state}"
        )
        yield Wait("it is ready", next_, STORED)
    else:
        why = f": {piece.reason}" if piece.reason and piece.state is not PieceState.REPLACED else ""
        yield Wait(f"it is {piece.state.value}{why}", _after(view, task, piece, local), STORED)
    for output in view.store.outputs.of_piece(task.id, piece.p):
        if output.todo and output.reason:
            yield Wait(trouble(task, output), _kept_later(view, task, output), STORED)


def _after(view: View, task: Task, piece: PieceRow, local: str) -> str:
    """Return what becomes of a piece that has ended."""
    if piece.state is PieceState.FAILED and (told := of_failed(view, task, piece)):
        return told
    if piece.state is PieceState.FAILED and task.state in MAY_RETRY:
        recover = f"`jim task recover {task.name}` makes new pieces of all that has failed"
        as_it_is = local and not gone(view.store, task, [piece.p])
        return f"`jim retry {local}` tries it again as it is; {recover}" if as_it_is else recover
    known = {
        PieceState.REPLACED: "new pieces do its work",
        PieceState.TAKEN_BACK: "what is left of it, if anything, is planned again",
    }
    return known.get(piece.state, "nothing more happens")

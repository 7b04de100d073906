"""Connectors: sources that are outputs of other tasks. What upstream brings arrives by its own transactions.

What was there before a task is caught up with by looks. A group is closed once upstream brings no more of it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from jim.model import Kind
from jim.statusdb.task_rows import (
    LIVE_PIECES,
    NOT_KEPT,
    Ended,
    Group,
    ItemState,
    Output,
    OutputState,
    PieceState,
    Source,
    Task,
    TaskState,
    Unfulfilled,
)
from jim.statusdb.tasks.chains import is_there, item_name
from jim.statusdb.tasks.outputs import pool_of
from jim.tasks.effects import OVER, coming_to_rest, gone, gone_for_good, not_kept_in_words
from jim.tasks.keeping import Keeper
from jim.tasks.throttle_row import read
from jim.tasks.unexpected_errors import later

log = logging.getLogger(__name__)
AT_ONCE = 500  # outputs, or pieces
NOT_FULFILLED = "its promise will not be fulfilled"
FAIL = "fail"  # what becomes of a piece whose promise is broken
TO_COME = (ItemState.AVAILABLE, ItemState.PROMISED)


def catch_up(keeper: Keeper, task: Task, source: Source) -> None:
    """Take outputs of before a task, some at a time."""
    now = next((each for each in keeper.store.pools.sources(task.id) if each.k == source.k), None)
    if now is None:
        return
    some = keeper.store.chains.outputs_after(now.upstream, now.stream, now.upto, AT_ONCE)
    with keeper.store.transaction():
        keeper.store.chains.feed(now, some)
        keeper.store.pools.move_items(task.id, _lost(keeper, now, some), ItemState.GONE, note=NOT_KEPT)
        if some:
            keeper.store.pools.set_source(task.id, now.k, upto=some[-1].id)
        else:
            keeper.store.pools.set_source(task.id, now.k, looked=keeper.clock.utc())
    if some:
        later(keeper, task, ("task look", task.id, now.k), partial(catch_up, keeper, task, now))


def _lost(keeper: Keeper, source: Source, outputs: Sequence[Output]) -> list[int]:
    """Return the items whose files were in the work directory, and went with their grid jobs."""
    upstream = keeper.store.tasks.one(source.upstream)
    there = [each for each in outputs if each.state is OutputState.VERIFIED and is_there(each)]
    pieces = gone(keeper.store, upstream, [each.p for each in there]) if upstream and there else []
    items = (keeper.store.pools.item_named(source.task, item_name(each)) for each in there if each.p in pieces)
    return [each.id for each in items if each and each.state is ItemState.AVAILABLE]


def close(keeper: Keeper, task: Task) -> list[str]:
    """Close sources that bring no more; return the groups of which all sources bring no more."""
    if not any(each.upstream for each in keeper.store.pools.sources(task.id)):
        return []
    for source in keeper.store.pools.sources(task.id):
        if source.upstream and source.looked and not source.closed and _is_over(keeper, source):
            keeper.store.pools.set_source(task.id, source.k, closed=keeper.clock.utc())
            keeper.store.tasks.note(task.id, "source closed", f"nothing more comes of {source.stream}")
    sources = keeper.store.pools.sources(task.id)
    return [
        group.grp
        for group in keeper.store.pools.groups(task.id)
        if not group.closed
        and any(each.upstream for each in sources)
        and all(each.closed or brings_no_more(keeper, task, each, group.grp) for each in sources)
    ]


def _is_over(keeper: Keeper, source: Source) -> bool:
    """Tell whether the task that feeds a source brings nothing more."""
    upstream, fed = keeper.store.tasks.one(source.upstream), keeper.store.tasks.one(source.task)
    if upstream is None or fed is None or upstream.state is TaskState.CANCELLED:
        return True
    return _is_whole(keeper, fed, upstream, source)


def _is_whole(keeper: Keeper, fed: Task, upstream: Task, source: Source) -> bool:
    """Tell whether all that a task brings is planned and, unless promises do, there or broken for good."""
    if not all(each.closed for each in keeper.store.pools.sources(upstream.id)):
        return False
    return all(_is_complete(keeper, fed, upstream, source, each) for each in keeper.store.pools.groups(upstream.id))


def brings_no_more(keeper: Keeper, task: Task, source: Source, grp: str) -> bool:
    """Tell whether a source brings nothing more of a group that upstream has closed."""
    upstream = keeper.store.tasks.one(source.upstream) if source.upstream and source.looked else None
    group = keeper.store.pools.group(source.upstream, grp) if upstream else None
    return bool(upstream and group and _is_complete(keeper, task, upstream, source, group))


def _is_complete(keeper: Keeper, fed: Task, upstream: Task, source: Source, group: Group) -> bool:
    """Tell whether all of a group is planned and, unless promises do, there or broken for good."""
    items = keeper.store.tasks.counts(upstream.id, "items", group.grp)
    if not group.closed or group.dirty or any(items.get(each) for each in TO_COME):
        return False
    if fed.spec.sources[source.k].promises:
        return not coming_to_rest(keeper.store, upstream, group.grp)
    pieces = keeper.store.tasks.counts(upstream.id, "pieces", group.grp)
    outputs = keeper.store.tasks.counts(upstream.id, pool_of(source.stream), group.grp)
    stored = upstream.spec.stores(source.stream)
    to_come = [*(pieces.get(each) for each in LIVE_PIECES), outputs.get(OutputState.PROMISED)]
    to_come += [outputs.get(OutputState.VERIFIED)] if stored and upstream.state is not TaskState.FINISHED else []
    if any(to_come) or (pieces.get(PieceState.FAILED) and _tries_again(upstream)):
        return False
    return not coming_to_rest(keeper.store, upstream, group.grp)


def _tries_again(upstream: Task) -> bool:
    """Tell whether a task will try failed pieces again by itself."""
    states = (TaskState.RUNNING, TaskState.PAUSED)
    return upstream.state in states and read(upstream.throttle).tries_again


def cut_short(keeper: Keeper, task: Task) -> str:
    """Return what a task is fed with that was not brought, or is not kept, as words; empty: nothing."""
    feeders = [
        (keeper.store.tasks.one(each.upstream), each) for each in keeper.store.pools.sources(task.id) if each.upstream
    ]
    if any(each is None for each, _ in feeders):  # removed since: what was found when the task ended before still holds
        return "".join(each.reason for each in keeper.store.seen_tasks.lines(task.id, (TaskState.FINISHED,), 1))
    short = [_cut_short(keeper, task, each, source) for each, source in feeders if each]
    lost = len(gone_for_good(keeper.store, task)) if feeders else 0
    short += [not_kept_in_words(lost, f" of {task.name}")] if lost else []
    return "; ".join(dict.fromkeys(filter(None, short)))


def _cut_short(keeper: Keeper, fed: Task, upstream: Task, source: Source) -> str:
    """Return what a task has not brought, or lacked itself; of broken promises, pieces that wait for them tell."""
    lacking = 0 if fed.spec.sources[source.k].promises else _broken(keeper, source)
    if upstream.state in OVER and (lacking or not _is_whole(keeper, fed, upstream, source)):
        return f"task {upstream.name} was cancelled before all of it was there"
    if not lacking:
        return cut_short(keeper, upstream)
    files = "1 file" if lacking == 1 else f"{lacking:,} files"
    return f"{files} of {upstream.name}.{source.stream} {'was' if lacking == 1 else 'were'} not brought"


def give_up(keeper: Keeper, task: Task) -> None:
    """Let pieces fail whose promises will not be fulfilled, some at a time; what is in no piece is dropped."""
    for source in keeper.store.pools.sources(task.id):
        if not source.upstream or not task.spec.sources[source.k].promises:
            continue
        upstream = keeper.store.tasks.one(source.upstream)
        if upstream is None or upstream.state is TaskState.CANCELLED:
            why = f"task {task.spec.sources[source.k].task} was {'cancelled' if upstream else 'removed'}"
            _end(keeper, task, _in_vain(keeper, task, source, upstream), f"will not be fulfilled: {why}")
            items = keeper.store.promises.promised_items(task.id, source.upstream, AT_ONCE)
            keeper.store.pools.move_items(task.id, items, ItemState.DROPPED, note=f"{NOT_FULFILLED}: {why}")
        elif task.spec.sources[source.k].when_broken == FAIL and _broken(keeper, source):
            _end(
                keeper,
                task,
                keeper.store.promises.unfulfilled(source, broken=True, limit=AT_ONCE),
                "is broken",
                told=True,
            )


def _broken(keeper: Keeper, source: Source) -> int:
    """Return how many promises are broken of what feeds a source."""
    return keeper.store.tasks.counts(source.upstream, pool_of(source.stream)).get(OutputState.BROKEN, 0)


def _in_vain(keeper: Keeper, task: Task, source: Source, upstream: Task | None) -> list[Unfulfilled]:
    """Return pieces that wait for a task that was cancelled or removed."""
    if upstream is None:
        return keeper.store.promises.unfulfilled_of_removed(task.id, AT_ONCE)
    return keeper.store.promises.unfulfilled(source, broken=False, limit=AT_ONCE)


def _end(keeper: Keeper, task: Task, found: Sequence[Unfulfilled], why: str, *, told: bool = False) -> None:
    """Let pieces fail that wait for promises; with the reason of each promise, if that is to be told."""
    words = (
        (each.p, f"promise {each.item} {why}{f': {each.reason}' if each.reason and told else ''}") for each in found
    )
    keeper.store.pieces.move(task.id, [Ended(p, PieceState.FAILED, each, Kind.BROKEN) for p, each in words])
    if found:
        log.warning("task %s: %d pieces have failed: a promise %s", task.name, len(found), why)

"""Draws conclusions: closes groups, and finishes or ends tasks."""

from __future__ import annotations

import logging

from jim.statusdb.task_rows import LIVE_PIECES, ItemState, OutputState, PieceState, Task, TaskState
from jim.statusdb.tasks.outputs import pool_of
from jim.tasks.effects import coming_to_rest
from jim.tasks.keeping import Keeper, ask_again
from jim.tasks.pool import feeding
from jim.tasks.throttle_row import read

log = logging.getLogger(__name__)
COMPLETED, WITH_FAILURES = "completed", "with failures"
LIVE_ITEMS = (ItemState.AVAILABLE, ItemState.PROMISED)
NEVER = float("inf")


def conclude(keeper: Keeper, task: Task) -> float:
    """Close what is closed by now, and finish a task of which nothing is left to do; return when to ask again."""
    if task.state is TaskState.CANCELLING:
        if not keeper.store.waves.live(task.id):
            keeper.store.tasks.change(task.id, state=TaskState.CANCELLED)
        return NEVER
    for grp in feeding.close(keeper, task):
        close_group(keeper, task, grp)
    feeding.give_up(keeper, task)
    if not all(each.closed for each in keeper.store.pools.sources(task.id)):
        return NEVER
    for each in [each for each in keeper.store.pools.groups(task.id) if not each.closed]:
        close_group(keeper, task, each.grp)
    if task.state is not TaskState.RUNNING or not is_over(keeper, task):
        return NEVER
    if has_untried(keeper, task):
        return ask_again(keeper)  # how they are judged comes first
    _finish(keeper, task)
    return NEVER


def is_over(keeper: Keeper, task: Task) -> bool:
    """Tell whether nothing is left to do of a task, as far as its own moves know."""
    if not all(each.closed for each in keeper.store.pools.sources(task.id)):
        return False
    if any(each.dirty or not each.closed for each in keeper.store.pools.groups(task.id)):
        return False
    pieces, items = (keeper.store.tasks.counts(task.id, what) for what in ("pieces", "items"))
    unfinished = [*(pieces.get(each) for each in LIVE_PIECES), *(items.get(each) for each in LIVE_ITEMS)]
    if any(unfinished) or keeper.store.waves.live(task.id):
        return False
    if pieces.get(PieceState.FAILED) and read(task.throttle).throttle.may_try_again:
        return False  # a decision may try them again
    return not coming_to_rest(keeper.store, task)


def has_untried(keeper: Keeper, task: Task) -> bool:
    """Tell whether the first pieces, which went alone, have yet to be judged."""
    return bool(
        read(task.throttle).orders.alone_first and keeper.store.tasks.counts(task.id, "pieces").get("completed")
    )


def close_group(keeper: Keeper, task: Task, grp: str) -> None:
    """Record that nothing more comes of a group: what waited in it is planned."""
    with keeper.store.transaction():
        keeper.store.pools.set_group(task.id, grp, closed=keeper.clock.utc())
        keeper.store.pools.make_dirty(task.id, grp)
        keeper.store.tasks.note(task.id, "closed", f"group {grp}" if grp else "all items are known")


def _finish(keeper: Keeper, task: Task) -> None:
    items = keeper.store.tasks.counts(task.id, "items")
    failed = items.get(ItemState.FAILED) or _any_broken(keeper, task)
    lost = items.get(ItemState.DROPPED) and keeper.store.promises.any_unfulfilled(task.id, feeding.NOT_FULFILLED)
    short = feeding.cut_short(keeper, task)
    outcome = WITH_FAILURES if failed or lost or short else COMPLETED
    keeper.store.tasks.change(task.id, state=TaskState.FINISHED, outcome=outcome, reason=short)
    keeper.store.tasks.note(task.id, outcome)
    log.info("task %s: finished, %s", task.name, outcome)


def _any_broken(keeper: Keeper, task: Task) -> bool:
    """Tell whether a task has not brought what it has promised, also if the items of that were given up."""
    pools = (pool_of(each.name) for each in task.spec.outputs)
    return any(keeper.store.tasks.counts(task.id, each).get(OutputState.BROKEN) for each in pools)

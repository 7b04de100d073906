"""Stores what a look has found: new items, late ones, those that have changed or gone."""

from __future__ import annotations

from collections.abc import Iterable

from jim.statusdb.task_rows import CHANGING, EMPTY, UNSENT, Item, ItemState, NewItem, PieceState, Task
from jim.tasks.keeping import Keeper

REMOVED, STALE = "removed since", "stale: it has changed since"
UNRESTED = "it had not come to rest when its group was closed"
DO_NOTHING = frozenset({PieceState.TAKEN_BACK, PieceState.REPLACED})  # what others have instead is looked at with them
BACK = frozenset({ItemState.GONE, ItemState.AVAILABLE})


def add(keeper: Keeper, task: Task, found: Iterable[NewItem], *, is_closed: bool = False) -> int:
    """Add new items; what comes after its group, or its source, was closed is late. Return how many are new."""
    closed = {each.grp for each in keeper.store.pools.groups(task.id) if each.closed}
    by_state: dict[ItemState, list[NewItem]] = {}
    for each in found:
        by_state.setdefault(ItemState.LATE if is_closed or each.grp in closed else ItemState.AVAILABLE, []).append(each)
    return sum([keeper.store.pools.add_items(task.id, those, state) for state, those in by_state.items()])


def is_gone(keeper: Keeper, task: Task, number: int) -> None:
    """Let an item be gone whose file is removed; if it was sent, what happens happens."""
    item = keeper.store.pools.items(task.id, [number]).get(number)
    if item is None or (item.state is ItemState.GONE and item.note != CHANGING):
        return
    if item.state in BACK or taken_back(keeper, task, item):
        keeper.store.pools.move_items(task.id, [number], ItemState.GONE, note="its file was removed, or has changed")
    elif not item.note:
        keeper.store.pools.set_items([number], note=REMOVED)


def is_changing(keeper: Keeper, task: Task, number: int) -> None:
    """Take back an item whose file is changing just now: it is never sent with its old size."""
    item = keeper.store.pools.items(task.id, [number]).get(number)
    if item and (item.state is ItemState.AVAILABLE or taken_back(keeper, task, item)):
        keeper.store.pools.move_items(task.id, [number], ItemState.GONE, note=CHANGING)


def has_changed(keeper: Keeper, task: Task, number: int, now: NewItem) -> None:
    """Take an item with its new size, if it has not been sent; one that is completed is stale, and not done again."""
    item = keeper.store.pools.items(task.id, [number]).get(number)
    if item is None:
        return
    if item.state in BACK or taken_back(keeper, task, item):
        group = keeper.store.pools.group(task.id, item.grp)
        keeper.store.pools.item_is_back(task.id, number, now.size, now.mtime, now.record)
        if group and group.closed and not _was_recovered(keeper, task, number):
            keeper.store.pools.move_items(task.id, [number], ItemState.LATE)
    else:
        note = STALE if item.mtime else item.note  # nothing was known of a file that a list or a person has named
        keeper.store.pools.set_items([number], note=note, size=now.size, mtime=now.mtime)


def _was_recovered(keeper: Keeper, task: Task, number: int) -> bool:
    """Tell whether other pieces were to do again what has failed of an item: then its file is not late."""
    found = (keeper.store.pieces.one(task.id, p) for p in keeper.store.pieces.with_item(number))
    return any(each and each.state is PieceState.REPLACED for each in found)


def taken_back(keeper: Keeper, task: Task, item: Item) -> bool:
    """Take back the pieces of an item, with all that share items with them, if none of these was sent."""
    if item.state is not ItemState.ACQUIRED:
        return False
    pieces, items, new = set[int](), {item.id}, {item.id}
    while new:
        more = {p for each in new for p in keeper.store.pieces.with_item(each)} - pieces
        rows = [keeper.store.pieces.one(task.id, p) for p in more]
        live = [each for each in rows if each and each.state not in DO_NOTHING]
        if any(each.state not in UNSENT for each in live):
            return False
        pieces |= more
        new = {part.item for each in live for part in keeper.store.pieces.parts_of(task.id, each.p)} - items
        items |= new
    ready = [p for p in pieces if (row := keeper.store.pieces.one(task.id, p)) and row.state in UNSENT]
    keeper.store.pieces.take_back(task.id, ready)
    return bool(ready)


def leave_out(keeper: Keeper, task: Task, files: Iterable[NewItem], why: str = EMPTY) -> None:
    """Leave out files that cannot be taken yet when their group is closed; what was taken already stays as it is.

    A group of which nothing else has come is known from now on, so that a person can open it again.
    """
    known = [(each, keeper.store.pools.item_named(task.id, each.name)) for each in files]
    new = [each for each, item in known if item is None]
    groups = {each.grp for each in keeper.store.pools.groups(task.id)} if new else set()
    over = all(each.closed for each in keeper.store.pools.sources(task.id))  # else other sources may bring more of it
    for grp in {each.grp for each in new} - groups:
        keeper.store.pools.set_group(task.id, grp, closed=keeper.clock.utc() if over else "")
    keeper.store.pools.add_items(task.id, new, ItemState.LEFT_OUT)
    back = [item.id for _, item in known if item and item.state is ItemState.GONE]  # not taken since a reopen
    keeper.store.pools.move_items(task.id, back, ItemState.LEFT_OUT)
    made = (keeper.store.pools.item_named(task.id, each.name) for each in new)
    keeper.store.pools.set_items([*back, *(each.id for each in made if each)], note=why)


def may_come(keeper: Keeper, task: Task, grp: str) -> None:
    """Let items that came too late, or could not be taken, be worked on: their group is open again.

    What is known of a file may be old by now: it is gone until a look has seen it come to rest.
    """
    late = keeper.store.pools.items(task.id, keeper.store.pools.late_items(task.id, grp)).values()
    left = keeper.store.pools.find_items(task.id, "*", ItemState.LEFT_OUT, -1)
    files = [each.id for each in left if each.grp == grp and each.note in (EMPTY, UNRESTED)]
    files += [each.id for each in late if each.mtime]
    keeper.store.pools.move_items(task.id, files, ItemState.GONE, note="")
    keeper.store.pools.move_items(task.id, [each.id for each in late if not each.mtime], ItemState.AVAILABLE)

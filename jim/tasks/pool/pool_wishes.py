"""What people want of the pool of a task: more items, the end of a group, a plan at once, or an item less."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import Any

from jim.errand import Errand
from jim.errors import plain
from jim.statusdb.task_rows import ItemState, NewItem, Source, Task, TaskState
from jim.statusdb.task_spec import SourceSpec
from jim.statusdb.tasks.outputs import another_fact
from jim.tasks.keeping import Keeper
from jim.tasks.pool import pooling
from jim.tasks.pool.concluding import close_group
from jim.tasks.sources import Found, directory, group_of
from jim.tasks.sources.memory import Memory
from jim.tasks.unexpected_errors import later, start

LEFT_AT_ONCE = 500  # files that are left out in one turn of the loop
GIVEN_UP_FROM = frozenset(
    {ItemState.AVAILABLE, ItemState.PROMISED, ItemState.LATE, ItemState.GONE, ItemState.LEFT_OUT, ItemState.FAILED}
)  # states of items of which nothing is on the way


def add(keeper: Keeper, task: Task, content: Mapping[str, Any]) -> str:
    """Add items by their names; return how many are new."""
    named = list(grouped(task, content["items"]))
    if content.get("reopen"):
        for grp in {grp for _, grp in named if grp is not None}:
            _reopen_group(keeper, task, grp)
    before = keeper.store.tasks.counts(task.id, "items")
    pooling.add(keeper, task, [NewItem(name, grp) for name, grp in named if grp is not None])
    if content.get("reopen"):
        _take_late(keeper, task, [name for name, _ in named])
    return f"{sum(keeper.store.tasks.counts(task.id, 'items').values()) - sum(before.values())} new"


def grouped(task: Task, names: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield names of items with their groups; None: a name that is outside of every group."""
    pattern = next((each.group for each in task.spec.sources if each.group), "")
    return ((name, group_of(pattern, name)) for name in names)


def _take_late(keeper: Keeper, task: Task, names: list[str]) -> None:
    """Let named items that came too late be worked on."""
    for name in names:
        item = keeper.store.pools.item_named(task.id, name)
        if item and item.state is ItemState.LATE:
            keeper.store.pools.move_items(task.id, [item.id], ItemState.AVAILABLE)
            keeper.store.pools.make_dirty(task.id, item.grp)


def close(keeper: Keeper, task: Task, content: Mapping[str, Any]) -> str:
    """Close a group, or all sources: what waits is planned."""
    _look_once_more(keeper, task)
    if "group" in content:
        close_group(keeper, task, content["group"])
        return ""
    for source in keeper.store.pools.sources(task.id):
        if not source.closed:
            keeper.store.pools.set_source(task.id, source.k, closed=keeper.clock.utc())
    return ""


def _look_once_more(keeper: Keeper, task: Task) -> None:
    """Let workers list directories: what cannot be taken there when its group is closed is left out."""
    for k, source in enumerate(task.spec.sources):
        if source.kind == "directory":
            work, done = partial(_listed, keeper, task.id, source), partial(_leave_out, keeper, task, k)
            start(keeper, task, Errand(("task left", task.id, k), work, done, lambda _: None, source=True))


def _listed(keeper: Keeper, task: int, source: SourceSpec) -> Found:
    """Return what a directory has that its task does not know. Runs in a worker."""
    with closing(keeper.store.reader()) as store:
        known = store.pools.known_items(task)
        found = directory.look(source._replace(stable_seconds=0), Memory(), known, "", keeper.clock.boot())
    return found or Found()


def _leave_out(keeper: Keeper, task: Task, k: int, found: Found) -> None:
    """Leave out what is empty; and, if no look follows, what has not come to rest: some now, the rest by and by."""
    if keeper.store.tasks.one(task.id) is None:
        return
    whole = all(each.closed for each in keeper.store.pools.sources(task.id))
    found.new += [each for _, each in found.changed]
    found.changed = []
    closed = {each.grp for each in keeper.store.pools.groups(task.id) if each.closed}
    some, found.new = found.new[:LEFT_AT_ONCE], found.new[LEFT_AT_ONCE:]
    pooling.leave_out(keeper, task, [each for each in found.empty if whole or each.grp in closed])
    pooling.leave_out(keeper, task, some if whole else (), pooling.UNRESTED)
    found.empty = []
    if found.new:
        later(keeper, task, ("task left", task.id, k), partial(_leave_out, keeper, task, k, found))


def reopen(keeper: Keeper, task: Task, content: Mapping[str, Any]) -> str:
    """Let more come of a group, or of all; what came too late is worked on."""
    groups = [content["group"]] if "group" in content else [each.grp for each in keeper.store.pools.groups(task.id)]
    for source in keeper.store.pools.sources(task.id):
        if source.kind != "events":
            keeper.store.pools.set_source(task.id, source.k, closed="", **_accepted(keeper, source))
    for grp in groups:
        _reopen_group(keeper, task, grp)
        pooling.may_come(keeper, task, grp)
    _go_on(keeper, task)
    return ""


def _accepted(keeper: Keeper, source: Source) -> dict[str, str]:
    """Accept the directory that is there now, if people were told that it is another one; look at it at once."""
    if not keeper.store.fact(another_fact(source.task, source.k)):
        return {}
    keeper.workers.forget(("task look", source.task, source.k))
    return {"device": ""}


def _reopen_group(keeper: Keeper, task: Task, grp: str) -> None:
    keeper.store.pools.set_group(task.id, grp, closed="")
    keeper.store.pools.make_dirty(task.id, grp)
    _go_on(keeper, task)


def _go_on(keeper: Keeper, task: Task) -> None:
    """Let a finished task go on: there may be more to do."""
    now = keeper.store.tasks.one(task.id)
    if now and now.state is TaskState.FINISHED:
        keeper.store.tasks.change(task.id, state=TaskState.RUNNING, outcome="", reason="it was opened again")


def flush(keeper: Keeper, task: Task, content: Mapping[str, Any]) -> str:
    """Plan once what waits to be full; the pool stays open."""
    waiting = [grp for grp, _ in keeper.store.pools.oldest_available(task.id)]
    groups = [grp for grp in waiting if grp == content.get("group", grp)]
    for grp in groups:
        keeper.store.pools.make_dirty(task.id, grp, flush=True)
    return f"{len(groups):,} {'group' if len(groups) == 1 else 'groups'}"


def drop(keeper: Keeper, task: Task, content: Mapping[str, Any]) -> str:
    """Give items up; what is on the way of them is not touched."""
    found = [keeper.store.pools.item_named(task.id, name) for name in content["items"]]
    able = [each.id for each in found if each and _may_be_dropped(keeper, task, each.id)]
    note = f"dropped: {plain(content['reason'])}"
    keeper.store.pools.move_items(task.id, able, ItemState.DROPPED, note=note)
    return f"{len(able)} of {len(found)} dropped"


def _may_be_dropped(keeper: Keeper, task: Task, number: int) -> bool:
    item = keeper.store.pools.items(task.id, [number])[
        number
    ]  # with the one before, its piece may have been taken back
    return item.state in GIVEN_UP_FROM or pooling.taken_back(keeper, task, item)

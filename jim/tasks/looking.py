"""Looks at the sources of a task: a worker lists, then the loop stores what is new, a few hundred items at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from jim.clock import Clock
from jim.errand import Errand
from jim.errors import JimError
from jim.statusdb.task_rows import Source, Task
from jim.tasks.keeping import Keeper
from jim.tasks.sources import Found, events, lists

log = logging.getLogger(__name__)
NEVER = float("inf")
STORED_AT_ONCE = 500


class Looking:
    """The looks of all tasks, and what is remembered from one to the next."""

    def __init__(self) -> None:
        self._next: dict[tuple[int, int], float] = {}  # seconds since boot of the next look at each source

    def look(self, keeper: Keeper, task: Task) -> float:
        """Look at each source whose time has come; return when to ask again."""
        spec = task.spec["source"]
        return min(
            (self._look(keeper, task, each, spec[each.k]) for each in keeper.store.sources(task.id)), default=NEVER
        )

    def looked(self, keeper: Keeper, task: Task) -> bool:
        """Tell whether each source was looked at once."""
        return all(each.looked for each in keeper.store.sources(task.id))

    def _look(self, keeper: Keeper, task: Task, source: Source, spec: Mapping[str, Any]) -> float:
        key = ("task look", task.id, source.k)
        if source.closed or keeper.workers.busy(key):
            return NEVER
        due = max(self._next.get((task.id, source.k), 0.0), keeper.workers.due(key))
        if due > keeper.clock.boot():
            return due
        self._next[task.id, source.k] = keeper.clock.boot() + float(spec.get("every_seconds") or 0)
        work = _work_of(spec)
        done, failed = partial(_found, keeper, task, source), partial(_not_found, keeper, task, source)
        return keeper.workers.start(Errand(key, work, done, failed))


def _work_of(spec: Mapping[str, Any]) -> Callable[[], Found]:
    kinds: dict[str, Callable[[Mapping[str, Any]], Found]] = {"events": events.look, "list": lists.look}
    return partial(kinds[spec["kind"]], spec)


def _found(keeper: Keeper, task: Task, source: Source, found: Found) -> None:
    """Store the first new items; the loop stores the rest by and by, and at last that the look was a good one."""
    some, rest = found.new[:STORED_AT_ONCE], found.new[STORED_AT_ONCE:]
    with keeper.store.transaction():
        keeper.store.add_items(task.id, some)
        if not rest:
            _note_look(keeper, task, source, found)
    if rest:
        found.new = rest
        keeper.workers.later(("task look", task.id, source.k), partial(_found, keeper, task, source, found))


def _note_look(keeper: Keeper, task: Task, source: Source, found: Found) -> None:
    now = keeper.clock.utc()
    keeper.store.set_source(task.id, source.k, looked=now, reason="", since="", closed=now if found.closed else "")
    if found.closed:
        keeper.store.note_task(task.id, "source closed", source.kind)


def _not_found(keeper: Keeper, task: Task, source: Source, error: BaseException) -> None:
    """Record why a source cannot be looked at. That proves nothing about its items."""
    words = str(error) if isinstance(error, JimError) else f"{type(error).__name__}: {error}"
    since = source.since or keeper.clock.utc()
    keeper.store.set_source(task.id, source.k, reason=words, since=since)
    log.warning("task %s: source %d cannot be looked at: %s", task.name, source.k + 1, words)


def look_now(spec: Mapping[str, Any], _clock: Clock) -> list[Found]:
    """Look at each source once, for a person: nothing is stored."""
    return [_work_of(each)() for each in spec["source"]]

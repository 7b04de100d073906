"""Looks at the sources of a task: a worker lists, then the loop stores what is new, a few hundred items at a time."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TypeVar

from jim.errand import Errand
from jim.errors import JimError, in_words
from jim.site.file import Site
from jim.statusdb.task_rows import UNPRINTABLE, KnownItem, Source, Task
from jim.statusdb.task_spec import SourceSpec
from jim.tasks.effects import coming_to_rest, is_tried
from jim.tasks.file import sent_along
from jim.tasks.keeping import BUSY_SECONDS, Keeper
from jim.tasks.pool import pooling
from jim.tasks.pool.closing import Ends
from jim.tasks.pool.feeding import catch_up
from jim.tasks.sources import ALL, Found, command, dataset, directory, events, lists
from jim.tasks.sources.memory import Memory
from jim.tasks.sources.mount_points import AnotherDirectory, note
from jim.tasks.unexpected_errors import later, start

log = logging.getLogger(__name__)
NEVER = float("inf")
STORED_AT_ONCE = 500
CHANGED_AT_ONCE = 100
WAITS_KEPT = 5  # files that wait, of which people are told
HELD_KEPT = 20  # groups whose end was seen, of which people are told
FIRST_SECONDS = 60.0  # so long pieces wait for the first look
NOTED_SECONDS = 10.0  # looks that show nothing new are written down together, as often as that
T = TypeVar("T")


class Looking:
    """The looks of all tasks, and what is remembered from one to the next."""

    def __init__(self) -> None:
        self._next: dict[tuple[int, int], float] = {}  # seconds since boot of the next look at each source
        self._began: dict[tuple[int, int], float] = {}  # when the first look began since its task runs
        self._ended: set[tuple[int, int]] = set()  # sources of which such a look has ended, well or not
        self._memories: dict[tuple[int, int], Memory] = {}  # of directories
        self._quiet: dict[tuple[int, int], str] = {}  # when sources were looked at that show nothing new
        self._asked: dict[tuple[int, int], int] = {}  # the number of tests when the last look began
        self.shown: dict[tuple[int, int], int] = {}  # the same of the last look that was a good one
        self.ends = Ends()
        self._noted = 0.0  # when such looks were last written down, in seconds since boot

    def look(self, keeper: Keeper, task: Task) -> float:
        """Look at each source whose time has come; return when to ask again."""
        specs = task.spec.sources
        return min(
            (self._look(keeper, task, each, specs[each.k]) for each in keeper.store.pools.sources(task.id)),
            default=NEVER,
        )

    def forget(self, keeper: Keeper, task: Task) -> None:
        """Look at once when a task goes on that does not run: nobody looks meanwhile."""
        for source in keeper.store.pools.sources(task.id):
            key = task.id, source.k
            self._next.pop(key, None)
            self._began.pop(key, None)
            self._asked.pop(key, None)
            self._ended.discard(key)
            self.shown.pop(key, None)

    def is_behind(self, keeper: Keeper, task: Task) -> bool:
        """Tell whether pieces have to wait for a look: their files may have changed while nobody looked.

        They do not wait for ever for a directory that hangs.
        """
        boot = keeper.clock.boot()
        return any(
            each.kind == "directory"
            and (task.id, each.k) not in self._ended
            and boot < self._began.get((task.id, each.k), boot) + FIRST_SECONDS
            for each in keeper.store.pools.sources(task.id)
        )

    def looked(self, keeper: Keeper, task: Task) -> bool:
        """Tell whether each source was looked at since the last test was asked for: earlier looks do not count.

        What has given all that it will ever give, or brings it by itself, is looked at once.
        """
        return all(
            bool(each.looked) if _is_still(each) or each.upstream else self.shown.get((task.id, each.k)) == task.tests
            for each in keeper.store.pools.sources(task.id)
        )

    def _look(self, keeper: Keeper, task: Task, source: Source, spec: SourceSpec) -> float:
        key = ("task look", task.id, source.k)
        if _is_still(source) or (source.upstream and (source.looked or keeper.workers.busy(key))):
            return NEVER
        if source.upstream:
            catch_up(keeper, task, source)
            return NEVER
        awaited = is_tried(task) and self._asked.get(key[1:]) != task.tests
        due = max(0.0 if awaited else self._next.get(key[1:], 0.0), keeper.workers.due(key))
        if due > keeper.clock.boot():
            return due
        every = float(spec.every_seconds)
        if keeper.workers.busy(key):
            return keeper.clock.boot() + (BUSY_SECONDS if awaited else max(every, BUSY_SECONDS))
        self._asked[key[1:]] = task.tests
        self._next[key[1:]] = keeper.clock.boot() + every
        self._began.setdefault(key[1:], keeper.clock.boot())
        memory = self._memories.setdefault(key[1:], Memory())
        work = partial(_work, keeper, task, source, spec, memory)
        done, failed = partial(self._found, keeper, task, source), partial(self._not_found, keeper, task, source)
        start(keeper, task, Errand(key, work, done, failed, source=True, heeds=(OSError, ValueError, JimError)))
        return keeper.clock.boot() + max(every, BUSY_SECONDS)

    def _found(self, keeper: Keeper, task: Task, source: Source, found: Found | None) -> None:
        """Store what was found; a look that shows nothing new gives its task no turn, and is written down later.

        The first look after a test was asked for does give a turn: the test waits for it.
        """
        self._ended.add((task.id, source.k))
        self._quiet.pop((task.id, source.k), None)
        if self.shown.get((task.id, source.k)) == task.tests and _is_as_before(source, found):
            self._quiet[task.id, source.k] = keeper.clock.utc()
        else:
            _found(keeper, task, source, found, self)

    def _not_found(self, keeper: Keeper, task: Task, source: Source, error: BaseException) -> None:
        self._ended.add((task.id, source.k))
        _not_found(keeper, task, source, error)

    def note(self, keeper: Keeper) -> None:
        """Write down the looks that have shown nothing new."""
        if self._quiet and keeper.clock.boot() >= self._noted + NOTED_SECONDS:
            keeper.store.pools.are_looked_at(self._quiet)
            self._quiet, self._noted = {}, keeper.clock.boot()


def _work(keeper: Keeper, task: Task, source: Source, spec: SourceSpec, memory: Memory) -> Found | None:
    """Look at a source; None: nothing can have changed. Runs in a worker."""
    if spec.kind == "events":
        return events.look(spec)
    found = LISTED[spec.kind](spec, keeper.site) if spec.kind != "directory" else Found()
    if spec.kind != "directory" and not found.new:
        return found
    with closing(keeper.store.reader()) as store:
        if spec.kind != "directory":
            return replace(
                found, new=[each for each in found.new if store.pools.item_named(task.id, each.name) is None]
            )
        return _in_directory(keeper, task, source, spec, memory, store.pools.known_items(task.id))


def _in_directory(
    keeper: Keeper, task: Task, source: Source, spec: SourceSpec, memory: Memory, known: Iterable[KnownItem]
) -> Found | None:
    """Look at a directory, and note what the next keeper needs to know of that."""
    file, boot = (
        sent_along.directory(keeper.site.state, task.name, task.nonce) / f"seen.{source.k}",
        keeper.clock.boot_id(),
    )
    if not memory.listed:
        memory.recall(file, boot)
    found = directory.look(spec, memory, known, source.device, keeper.clock.boot())
    if found is not None:
        memory.note(file, boot)
    return found


LISTED: dict[str, Callable[[SourceSpec, Site], Found]] = {
    "events": lambda source, _: events.look(source),
    "list": lambda source, _: lists.look(source),
    "command": lambda source, _: command.look(source),
    "dataset": dataset.look,
}


def _is_still(source: Source) -> bool:
    """Tell whether a source is never looked at again; of a directory, files may change also once it is closed."""
    return bool(source.closed) and source.kind != "directory"


def _is_as_before(source: Source, found: Found | None) -> bool:
    """Tell whether a look has shown only what the look before had shown."""
    if not source.looked or source.reason or source.waits:
        return False
    return found is None or found == Found(device=source.device)


def _found(keeper: Keeper, task: Task, source: Source, found: Found | None, looking: Looking) -> None:
    """Store some of what was found; the loop stores the rest by and by, and at last that the look was a good one."""
    if keeper.store.tasks.one(task.id) is None:
        return  # it was removed, or replaced, while a worker looked
    if found is None:
        keeper.store.pools.set_source(task.id, source.k, looked=keeper.clock.utc(), reason="", since="")
        note(keeper.store, task.id, source.k, another=False)
        looking.shown[task.id, source.k] = task.tests
        return
    some, found.new = found.new[:STORED_AT_ONCE], found.new[STORED_AT_ONCE:]
    with keeper.store.transaction():
        is_closed = bool(keeper.store.pools.sources(task.id)[source.k].closed)
        keeper.store.tasks.count_new(task.id, source.k, pooling.add(keeper, task, some, is_closed=is_closed))
        if found.new:
            later(keeper, task, ("task look", task.id, source.k), partial(_found, keeper, task, source, found, looking))
            return
        left = _update_some(keeper, task, found)
        if not left:
            _note_look(keeper, task, source, found, looking.ends)
            looking.shown[task.id, source.k] = task.tests
    if left:
        later(keeper, task, ("task look", task.id, source.k), partial(_found, keeper, task, source, found, looking))


def _update_some(keeper: Keeper, task: Task, found: Found) -> bool:
    """Update some items whose files have changed or are gone; tell whether more are left."""
    for number in _taken(found.gone):
        pooling.is_gone(keeper, task, number)
    keeper.store.pools.set_items(_taken(found.back), note="")
    for number in _taken(found.changing):
        pooling.is_changing(keeper, task, number)
    for number, now in _taken(found.changed):
        pooling.has_changed(keeper, task, number, now)
    return bool(found.gone or found.back or found.changing or found.changed)


def _taken(waiting: list[T]) -> list[T]:
    """Take the first ones from a list."""
    some, waiting[:] = waiting[:CHANGED_AT_ONCE], waiting[CHANGED_AT_ONCE:]
    return some


def _note_look(keeper: Keeper, task: Task, source: Source, found: Found, ends: Ends) -> None:
    now = keeper.clock.utc()
    waits = _waits(found.unstable, found.held)
    columns = {"looked": now, "reason": "", "since": "", "waits": waits} | ({"closed": now} if found.closed else {})
    keeper.store.pools.set_source(task.id, source.k, device=found.device, **columns)
    note(keeper.store, task.id, source.k, another=False)
    if found.closed:
        keeper.store.tasks.note(task.id, "source closed", source.kind)
    if ALL in found.ended and not keeper.store.pools.sources(task.id)[source.k].closed:
        keeper.store.pools.set_source(task.id, source.k, closed=now)
        keeper.store.tasks.note(task.id, "source closed", "its end was seen")
        pooling.leave_out(keeper, task, found.empty)
    if source.closed and found.empty:
        awaited = {each.name for each in coming_to_rest(keeper.store, task)}
        pooling.leave_out(keeper, task, [each for each in found.empty if each.name in awaited])
    ends.see(task.id, source.k, found)


def _waits(files: Mapping[str, str], held: Mapping[str, str]) -> str:
    """Write down some of the files that are not taken, and how many have names that nobody takes; empty: none.

    Groups whose end was seen are held open by some of these files.
    """
    if not files:
        return ""
    odd = [name for name, why in files.items() if why == UNPRINTABLE]
    some = dict(list(files.items())[:WAITS_KEPT])
    waiting = {"count": len(files), "some": some, "unprintable": len(odd), "odd": odd[:1]}
    open_still = [[None if grp == ALL else grp, file, files[file]] for grp, file in list(held.items())[:HELD_KEPT]]
    return json.dumps(waiting | ({"held": open_still} if open_still else {}))


def _words(error: BaseException, spec: SourceSpec) -> str:
    """Return why a source cannot be looked at; its own place stands before that."""
    if not isinstance(error, OSError):
        return str(error) or type(error).__name__
    here = error.filename in (None, spec.place)
    return in_words(error) if here else f"{error.filename}: {in_words(error)}"


def _not_found(keeper: Keeper, task: Task, source: Source, error: BaseException) -> None:
    """Record why a source cannot be looked at. That proves nothing about its items."""
    words = _words(error, task.spec.sources[source.k])
    since = source.since or keeper.clock.utc()
    keeper.store.pools.set_source(task.id, source.k, reason=words, since=since)
    note(keeper.store, task.id, source.k, isinstance(error, AnotherDirectory))
    log.warning("task %s: source %d cannot be looked at: %s", task.name, source.k + 1, words)


def look_now(source: SourceSpec, site: Site) -> Found:
    """Look at a source once, for a person: nothing is stored, and files that may still grow are shown."""
    if source.kind == "task":
        return Found()
    if source.kind != "directory":
        return LISTED[source.kind](source, site)
    found = directory.look(source._replace(stable_seconds=0), Memory(), (), "", 0.0) or Found()
    ended = directory.closing(source)
    return replace(found, closed=ALL in ended, ended=ended)

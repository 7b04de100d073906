"""Plans a task: makes pieces of its items, group by group. A worker asks the splitter, the loop stores the pieces."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from itertools import chain

from jim.errand import Errand
from jim.files import passes
from jim.statusdb.task_rows import Group, Item, ItemState, NewPiece, Task, TaskState
from jim.tasks.keeping import Keeper, ask_again
from jim.tasks.pieces.cutting import Cut, Pool, cut, end_of, ranges
from jim.tasks.throttle_row import read
from jim.tasks.unexpected_errors import in_words, later, start

log = logging.getLogger(__name__)
NEVER = float("inf")
SLICE = 5_000  # items that a splitter is shown at once
STORED_AT_ONCE = 500  # pieces
AHEAD = 10_000  # ready pieces that are planned in advance
WAITING = 100_000  # pieces that wait for promises
WAITS_SECONDS = 1.0  # between two looks at how long items have waited
AGED_SECONDS = 60.0  # splitters may let files wait by their ages: so often they are asked again


class Planning:
    """The plans of all tasks, and what is remembered from one to the next."""

    def __init__(self) -> None:
        self._slices: dict[tuple[int, str], int] = {}  # of groups of which a splitter made nothing so far
        self._looked: dict[int, float] = {}  # when it is next looked which items have waited for how long
        self._aged: dict[int, float] = {}  # when splitters were last asked because of ages

    def plan(self, keeper: Keeper, task: Task) -> float:
        """Plan the next group that has changed; return when to ask again."""
        if keeper.workers.busy(_key(task)):
            return ask_again(keeper)
        counts = keeper.store.tasks.counts(task.id, "pieces")
        room = max(AHEAD, 2 * read(task.throttle).allowance) - counts.get("ready", 0)
        if room < STORED_AT_ONCE or counts.get("waiting", 0) >= WAITING:
            return NEVER
        when = self._wait_no_longer(keeper, task)
        for group in keeper.store.pools.dirty_groups(task.id):
            if self._plan(keeper, task, group, min(SLICE, room)):
                return keeper.workers.due(_key(task)) if keeper.workers.due(_key(task)) else keeper.clock.boot()
        return when

    def _wait_no_longer(self, keeper: Keeper, task: Task) -> float:
        """Plan the groups in which an item has waited too long for others; return when to look next."""
        if task.spec.makes_events:
            return NEVER
        if not keeper.store.tasks.counts(task.id, "items").get(ItemState.AVAILABLE):
            return NEVER
        if keeper.clock.boot() < self._looked.get(task.id, 0.0):
            return self._looked[task.id]
        limit, waiting = _limit(task), keeper.store.pools.oldest_available(task.id)
        self._looked[task.id] = keeper.clock.boot() + WAITS_SECONDS
        now, when = keeper.clock.steady(), NEVER
        aged = bool(waiting) and keeper.clock.boot() >= self._aged.get(task.id, 0.0) + AGED_SECONDS
        for grp, since in waiting:
            over = bool(limit) and now - since >= limit
            if over or aged:
                keeper.store.pools.make_dirty(task.id, grp)
            if limit and not over:
                when = min(when, keeper.clock.boot_at(since + limit))
        if aged:
            self._aged[task.id] = keeper.clock.boot()
        return min(when, self._aged.get(task.id, 0.0) + AGED_SECONDS) if waiting else when

    def _plan(self, keeper: Keeper, task: Task, group: Group, most: int) -> bool:
        """Plan `most` items of one group; tell whether there is more to do in it at once, or under way."""
        split = task.spec.split
        most = self._slices.get((task.id, group.grp), most)
        items = keeper.store.pools.available(task.id, group.grp, most + 1)
        waits = split.when == "closed" and not (group.closed or group.flush or _limit(task))
        if not items or waits:
            keeper.store.pools.is_planned(group)
            return False
        if "per_piece" in items[0].record:
            _plan_range(keeper, task, group, items[0])
            return True
        some = items[:most]
        whole = len(some) == len(items)
        is_open = not (group.closed or group.flush or split.when == "now") or not whole
        pool = Pool(is_open, task.next_piece, keeper.clock.steady(), _limit(task) if whole else 0.0)
        work = partial(cut, split, some, pool, keeper.site)
        done = partial(self._store, keeper, task, group, some, whole)
        failed = partial(_failed, keeper, task)
        start(keeper, task, Errand(_key(task), work, done, failed, source=True, heeds=(BaseException,)))
        return True

    def _store(self, keeper: Keeper, task: Task, group: Group, items: Sequence[Item], whole: bool, made: Cut) -> None:
        """Store what a splitter has made, unless an item has changed meanwhile: then it is asked again."""
        used = [*_used(made.pieces), *chain(*made.settled.values())]
        now = keeper.store.tasks.one(task.id)
        if now is None or now.state is not TaskState.RUNNING or not keeper.store.pieces.all_available(task.id, used):
            return
        if not used and not whole:
            self._slices[task.id, group.grp] = 2 * len(items)
            return
        self._slices.pop((task.id, group.grp), None)
        first = now.next_piece
        with keeper.store.transaction():
            keeper.store.pieces.drop_unplanned(task.id)
        self._store_some(keeper, now, group, items, whole, made, first)

    def _store_some(
        self, keeper: Keeper, task: Task, group: Group, items: Sequence[Item], whole: bool, made: Cut, first: int
    ) -> None:
        """Store some of the pieces, which do not count yet; with the last ones, let all of them count."""
        done = first - task.next_piece
        some = made.pieces[done : done + STORED_AT_ONCE]
        if done + len(some) < len(made.pieces):
            keeper.store.pieces.add(task.id, first, some)
            more = partial(self._store_some, keeper, task, group, items, whole, made, first + len(some))
            later(keeper, task, _key(task), more)
            return
        used = set(_used(made.pieces))
        if not keeper.store.pieces.all_available(task.id, used):
            return  # the group is planned again
        with keeper.store.transaction():
            keeper.store.pieces.add(task.id, first, some)
            _settle(keeper, task, group, made, used, [each.id for each in items if whole])
            keeper.store.pieces.end_plan(task.id, first + len(some), used)
            if whole:
                keeper.store.pools.is_planned(group)
        log.info("task %s: %d pieces planned", task.name, len(made.pieces))


def _limit(task: Task) -> float:
    """Return for how many seconds an item waits for others; 0: for ever."""
    return float(task.spec.split.max_wait_seconds)


def _key(task: Task) -> tuple[str, int]:
    return ("task plan", task.id)


def _used(pieces: Sequence[NewPiece]) -> list[int]:
    return [part.item for piece in pieces for part in piece.parts]


def _plan_range(keeper: Keeper, task: Task, group: Group, item: Item) -> None:
    """Cut the next pieces of a range of events."""
    pieces = list(ranges(item, STORED_AT_ONCE))
    end = end_of(item, pieces)
    wholly = end >= int(item.record["events"])
    with keeper.store.transaction():
        keeper.store.pieces.drop_unplanned(task.id)
        keeper.store.pieces.add(task.id, task.next_piece, pieces)
        keeper.store.pieces.cut_range(task.id, item.id, end, wholly=wholly)
        keeper.store.pieces.end_plan(task.id, task.next_piece + len(pieces), ())


def _settle(keeper: Keeper, task: Task, group: Group, made: Cut, used: set[int], shown: Sequence[int]) -> None:
    """Give items that need no piece their end; those of a closed group of which no piece comes are left out."""
    for state, those in made.settled.items():
        keeper.store.pools.move_items(task.id, those, ItemState(state))
    if group.closed:
        taken = used.union(*made.settled.values())
        left = [each for each in shown if each not in taken]
        keeper.store.pools.move_items(
            task.id, left, ItemState.LEFT_OUT, note="no piece comes of it: the splitter left it out"
        )


def _failed(keeper: Keeper, task: Task, error: BaseException) -> None:
    """Pause a task whose items the splitter cannot split; what passes is tried again."""
    words = in_words(task, error)
    log.error("task %s cannot be planned: %s", task.name, words)
    if isinstance(error, OSError) and passes(error):
        return
    keeper.store.tasks.change(task.id, state=TaskState.PAUSED, reason=f"cannot be planned: {words}")

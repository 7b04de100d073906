"""Does completed pieces again: takes back what was computed wrongly and, if people want that, all that was made of it.

A worker looks first whether stored files are still those that JIM has stored, and finds names for them. Then one
transaction releases the pieces once more. Their files get the other names before anything is stored anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from jim.errand import Errand
from jim.errors import JimError, UnknownJob
from jim.model import Verb, Witness
from jim.statusdb.store import Store
from jim.statusdb.task_rows import (
    REDO,
    Ended,
    Item,
    NewPiece,
    Output,
    OutputState,
    PieceRow,
    PieceState,
    Task,
    TaskState,
    Todo,
)
from jim.statusdb.tasks.item_names import is_pattern
from jim.tasks.damaged import damaged
from jim.tasks.effects import OVER, TaskVerb
from jim.tasks.frozen_local_jobs import freeze
from jim.tasks.keeping import Keeper
from jim.tasks.pieces.waves import place_in_store
from jim.tasks.pool.pooling import STALE
from jim.tasks.unexpected_errors import start

WITH_ALL, STALE_ONLY = "with_all", "stale"  # what a wish says of what was made of its pieces
NONE_COMPLETED = "none of these pieces has completed"
MADE_OF = {WITH_ALL: "--with-all makes that again, too", STALE_ONLY: "--stale only marks it"}

TASK = attrgetter("task")
Asides = Mapping[int, tuple[str, str]]  # the places of files and the names that they get, by their outputs


class Closure(NamedTuple):
    """What is done again, and what was made of it."""

    chosen: tuple[PieceRow, ...]
    made: tuple[PieceRow, ...]  # pieces of other tasks that were sent with what these have brought
    stored: tuple[Output, ...]  # files of all of these
    on_the_way: tuple[Output, ...]  # to a store: a keeper that was killed may have named them there


class Checked(NamedTuple):
    """What a worker has found out about stored files, for which wish and which pieces."""

    wish: str
    print: tuple[tuple[int, int, str], ...]
    aside: Asides
    trouble: str = ""


def closure_of(store: Store, task: Task, content: Mapping[str, Any]) -> Closure:
    """Return the completed pieces that a wish means, and all that was made of them."""
    numbers = dict.fromkeys(content.get("numbers", ()))
    for glob in content.get("items", ()):
        items = items_like(store, task.id, glob)
        numbers |= dict.fromkeys(p for each in items for p in store.pieces.with_item(each.id))
    if "group" in content:
        of_group = store.pieces.completed(task.id, content["group"])
        numbers = dict.fromkeys(p for p in of_group if p in numbers or not (set(content) & {"numbers", "items"}))
    named = (store.pieces.one(task.id, p) for p in numbers)
    chosen = tuple(each for each in named if each and each.state is PieceState.COMPLETED)
    made: dict[tuple[int, int], PieceRow] = {}
    last = list(chosen)
    while last:
        users = {(each.task, each.p): each for piece in last for each in store.pieces.made_of(piece.task, piece.p)}
        last = [each for key, each in users.items() if key not in made]
        made |= users
    outputs = [each for piece in (*chosen, *made.values()) for each in store.outputs.of_piece(piece.task, piece.p)]
    stored = tuple(each for each in outputs if each.state is OutputState.STORED)
    return Closure(chosen, tuple(made.values()), stored, tuple(_on_the_way(store, outputs)))


def _on_the_way(store: Store, outputs: Iterable[Output]) -> Iterator[Output]:
    """Yield the outputs that are still to be stored, with the places where they will be."""
    for each in outputs:
        if each.todo is Todo.STORE and (task := store.tasks.one(each.task)):
            with suppress(JimError):  # its name makes no sense, so it is nowhere
                yield each._replace(place=str(place_in_store(task, each)))


def items_like(store: Store, task: int, name: str) -> list[Item]:
    """Return the items that a name or a pattern means."""
    items = store.pools.find_items(task, name, "", -1) if is_pattern(name) else []
    one = None if items else store.pools.item_named(task, name)
    return [one] if one else items


def in_words(store: Store, closure: Closure) -> str:
    """Count what was made of some pieces, by tasks."""
    parts = []
    for number, group in groupby(sorted(closure.made, key=TASK), key=TASK):
        (task, pieces) = store.tasks.one(number), len(list(group))
        parts.append(f"{pieces:,} piece{'s' * (pieces != 1)} in {task.name if task else number}")
    files = len(closure.stored)
    return ", ".join([*parts, *([f"{files:,} file{'s' * (files != 1)} in the store"] if files else [])])


def refusal(store: Store, task: Task, content: Mapping[str, Any]) -> str:
    """Return why nothing is done again; empty: it is."""
    if not set(content) & {"numbers", "items", "group"}:
        return f"{task.name}: say which pieces: {task.name}/P, --item or --group"
    closure = closure_of(store, task, content)
    if not closure.chosen:
        return f"{task.name}: {NONE_COMPLETED}"
    if content.get(WITH_ALL) and content.get(STALE_ONLY):
        return f"{task.name}: {WITH_ALL} and {STALE_ONLY} exclude each other"
    made = in_words(store, closure)
    if made and not (content.get(WITH_ALL) or content.get(STALE_ONLY)):
        return f"{task.name}: of this was made: {made}; {'; '.join(MADE_OF.values())}"
    return ""


class Redos:
    """What workers have found out for wishes that wait."""

    def __init__(self) -> None:
        self._checked: dict[int, Checked] = {}

    def are_checked(self, keeper: Keeper, task: Task, content: Mapping[str, Any]) -> bool:
        """Let a worker look at stored files; tell whether the wish can be taken now."""
        key = ("task redo", task.id)
        if keeper.workers.busy(key):
            return False
        closure, wish = closure_of(keeper.store, task, content), repr(sorted(content.items()))
        checked = self._checked.get(task.id)
        if checked and (checked.wish, checked.print) == (wish, _print(closure)):
            return True
        files = (*closure.stored, *closure.on_the_way)
        files = files if content.get(WITH_ALL) else tuple(each for each in files if each.task == task.id)
        work = partial(_check, wish, _print(closure), files)
        keeper.workers.forget(key)
        start(keeper, task, Errand(key, work, partial(self._keep, task.id), source=True))
        return False

    def _keep(self, task: int, checked: Checked) -> None:
        self._checked[task] = checked

    def redo(self, keeper: Keeper, task: Task, content: Mapping[str, Any]) -> tuple[str, str]:
        """Release pieces once more, in the transaction of the wish; return what the journal tells of it."""
        checked, closure = self._checked.pop(task.id), closure_of(keeper.store, task, content)
        if checked.trouble:
            return f"{TaskVerb.REDO} changes nothing", checked.trouble
        able = [each for each in closure.made if content.get(WITH_ALL) and not _is_over(keeper, each.task)]
        left = [each for each in closure.made if each not in able]
        for number, group in groupby(sorted((*able, *closure.chosen), key=TASK, reverse=True), key=TASK):
            _release_once_more(keeper, number, list(group), checked.aside)
        _mark(keeper, (*closure.chosen, *able), left)
        pieces = len(closure.chosen) + len(able)
        stale = f"; of {len(left):,} the inputs are stale" if left else ""
        files = sum(each.id in checked.aside for each in closure.stored)
        aside = f"; {files:,} stored file{'s are' if files != 1 else ' is'} moved aside" if files else ""
        return TaskVerb.REDO, f"{pieces:,} piece{'s are' if pieces != 1 else ' is'} done again{aside}{stale}"


def _print(closure: Closure) -> tuple[tuple[int, int, str], ...]:
    """Return what tells that the same pieces are done again, in the same states."""
    return tuple((each.task, each.p, f"{each.state} {each.wave}") for each in (*closure.chosen, *closure.made))


def _is_over(keeper: Keeper, number: int) -> bool:
    task = keeper.store.tasks.one(number)
    return task is None or task.state in OVER


def _check(wish: str, pieces: tuple[tuple[int, int, str], ...], files: Sequence[Output]) -> Checked:
    """Find names for stored files; refuse what somebody else has put in their place. Runs in a worker."""
    others = [each.problem for each in damaged(files) if os.path.lexists(each.output.place)]
    if others:
        return Checked(wish, pieces, {}, f"{others[0]}: somebody has changed it; move it away first")
    return Checked(wish, pieces, {each.id: (each.place, aside(Path(each.place))) for each in files})


def aside(path: Path) -> str:
    """Return the first free name for a file that is taken back."""
    names = (f"{path}.withdrawn.{number}" for number in count(1))
    return next(name for name in names if not os.path.lexists(name))


def _release_once_more(keeper: Keeper, number: int, pieces: Sequence[PieceRow], names: Asides) -> None:
    """Let pieces of one task be ready again; new ones do the work of those whose grid jobs are no longer kept."""
    task = keeper.store.tasks.one(number)
    if task is None:
        return
    if task.state is TaskState.FINISHED:
        keeper.store.tasks.change(number, state=TaskState.RUNNING, outcome="", reason="pieces are done again")
    if number and (shown := ", ".join(str(each.p) for each in pieces[:20])):
        more = f", and {len(pieces) - 20:,} more" if len(pieces) > 20 else ""
        keeper.store.tasks.note(number, "done again", f"pieces {shown}{more}" if len(pieces) > 1 else f"piece {shown}")
    gone = [each for each in pieces if not _grid_of(keeper, each)]
    for each in pieces:
        if each.state is PieceState.SENT:
            _end(keeper, each)
            continue
        keeper.store.outputs.make_anew(number, each.p, names)
        if each not in gone:
            attempts = freeze(keeper, each, "its piece is done again")
            keeper.store.pieces.ready_again(number, {each.p: attempts}, "")
            keeper.store.pieces.go_first(number, [each.p])
    _replace(keeper, task, [each for each in gone if each.state is not PieceState.SENT])


def _grid_of(keeper: Keeper, piece: PieceRow) -> int:
    """Return the grid job of a piece; 0: it is no longer kept, so nobody knows how many attempts it had."""
    wave = keeper.store.waves.one(piece.task, piece.wave)
    try:
        return keeper.store.grid_job(wave.grid).id if wave and wave.grid else 0
    except UnknownJob:
        return 0


def _end(keeper: Keeper, piece: PieceRow) -> None:
    """Cancel the local job of a piece that is on the way; once it has ended, the piece is released again."""
    keeper.store.pieces.want_again(piece.task, [piece.p], REDO)
    wave, grid = keeper.store.waves.one(piece.task, piece.wave), _grid_of(keeper, piece)
    if wave is None or not grid or not keeper.store.grid_job(grid).size:
        return
    if not keeper.store.state(grid, piece.n).final:
        keeper.store.set_local_job(grid, piece.n, wish=Verb.CANCEL)
        words = "what it was sent with is made again"
        keeper.store.note(grid, f"{Verb.CANCEL} requested", Witness.KEEPER, words, piece.n)
    keeper.store.waves.change(wave, version=-1)


def _replace(keeper: Keeper, task: Task, gone: Sequence[PieceRow]) -> None:
    """Let new pieces do the work of these."""
    if not gone:
        return
    now = keeper.store.tasks.one(task.id) or task
    keeper.store.pieces.drop_unplanned(task.id)
    keeper.store.pieces.move(task.id, [Ended(each.p, PieceState.REPLACED, "done again") for each in gone])
    new = [NewPiece(each.grp, each.record, tuple(keeper.store.pieces.parts_of(task.id, each.p))) for each in gone]
    keeper.store.pieces.add(task.id, now.next_piece, new, turn=0)
    keeper.store.pieces.end_plan(task.id, now.next_piece + len(new), {o.item for each in new for o in each.parts})
    successors = {each.p: [p] for p, each in enumerate(gone, now.next_piece)}
    keeper.store.promises.move_promises(task.id, successors)


def _mark(keeper: Keeper, redone: Iterable[PieceRow], left: Sequence[PieceRow]) -> None:
    """Mark the inputs of pieces that stay as they are, though what they were made of is made again."""
    users = {(each.task, each.p) for each in left}
    for task, item in _items_of(keeper, redone) if users else ():
        if any((task, p) in users for p in keeper.store.pieces.with_item(item)):
            keeper.store.pools.set_items([item], note=STALE)


def _items_of(keeper: Keeper, pieces: Iterable[PieceRow]) -> Iterator[tuple[int, int]]:
    for piece in pieces:
        outputs = [each.id for each in keeper.store.outputs.of_piece(piece.task, piece.p)]
        yield from ((each.task, each.id) for each in keeper.store.chains.items_of(outputs))

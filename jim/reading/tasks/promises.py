"""Tells what can be done about promises that are broken, and about pieces that have failed for them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from jim.model import Kind
from jim.reading.before_submission import Wait
from jim.reading.tasks.facts import trouble
from jim.reading.view import View
from jim.statusdb.task_rows import Item, PieceRow, PieceState, Task
from jim.tasks.effects import OVER, is_given_up, is_older

STORED = "the status DB"
ONLY_CANCEL = "nothing more is sent; only `jim task cancel {name}` is possible"
PROMISES = 5  # of a piece of which people are told
LOOKED_AT = 100  # failed pieces
NAMED = 3  # items
MAY_FULFIL = "`jim task retry {task}` or `jim task recover {task}` may fulfil"
EXPLAINS = "`jim task explain {task}/{p}` tells what can be done"


def _maker(view: View, item: Item) -> tuple[Task, PieceRow] | None:
    """Return the piece that has promised an item, with its task; None: it is forgotten, or no task has promised it."""
    output = view.store.outputs.one(item.output)
    task = view.store.tasks.one(output.task) if output else None
    piece = view.store.pieces.one(output.task, output.p) if output else None
    return (task, piece) if task and piece else None


def _is_lost(view: View, item: Item) -> bool:
    """Tell whether nobody will bring an item that is promised."""
    made = None if item.there > 0 else _maker(view, item)
    if made is None:
        return item.there < 1
    task, piece = made
    if task.state in OVER:
        return True
    return piece.state is PieceState.FAILED and (is_older(task) or is_given_up(view.store, task, piece))


def may_be_tried_again(view: View, task: Task) -> bool:
    """Tell whether a failed piece of a task may end well if it is tried again; of very many, one may."""
    if is_older(task):
        return False
    failed = view.store.pieces.failed(task.id, LOOKED_AT)
    return len(failed) == LOOKED_AT or any(_may_be_tried_again(view, task, each) for each in failed)


def _may_be_tried_again(view: View, task: Task, piece: PieceRow) -> bool:
    if piece.kind is Kind.BROKEN:
        return not any(_is_lost(view, each) for each in _items(view, piece))
    return not is_given_up(view.store, task, piece)


def _items(view: View, piece: PieceRow) -> list[Item]:
    return list(view.store.pools.items(piece.task, piece.record.get("files", ())).values())


def missing(view: View, task: Task, waiting: PieceRow) -> Iterator[Wait]:
    """Name the promises that a piece waits for."""
    items = view.store.pools.items(task.id, waiting.record.get("files", ()))
    lacking = [each for each in items.values() if each.there < 1]
    for item in lacking[:PROMISES]:
        output = view.store.outputs.one(item.output)
        upstream = view.store.tasks.one(output.task) if output else None
        if output is None or upstream is None:
            continue
        by = view.store.pieces.one(output.task, output.p)
        why = f": {by.reason}" if by and by.reason else ""
        piece = f"piece {upstream.name}/{output.p}, which is {by.state if by else 'gone'}{why}"
        unstored = f"; {trouble(upstream, output)}" if output.reason else "; its file is to be stored"
        what = f"it waits for {item.name}, promised by {piece}{unstored if output.todo else ''}"
        yield Wait(what, _of_waiting(view, task, item), STORED)
    if len(lacking) > PROMISES:
        yield Wait(f"it waits for {len(lacking) - PROMISES:,} more files", "likewise", STORED)


def _of_waiting(view: View, task: Task, item: Item) -> str:
    """Return what becomes of an item that a piece waits for."""
    if _is_lost(view, item):
        return f"nobody will bring it; {_give_up(task, [item])}, and what is left of its piece is planned again"
    made = _maker(view, item) if item.there < 0 else None
    if made is None:
        return "it is ready once all of its files are there"
    upstream, piece = made
    if piece.kind is Kind.BROKEN:
        return EXPLAINS.format(task=upstream.name, p=piece.p)
    return f"{MAY_FULFIL.format(task=upstream.name)} it"


def of_failed(view: View, task: Task, piece: PieceRow) -> str:
    """Return what can be done about a failed piece that is not simply tried again; empty: the usual."""
    if is_older(task):
        return ONLY_CANCEL.format(name=task.name)
    if is_given_up(view.store, task, piece):
        return "nothing more happens: all its items were dropped or are gone"
    if piece.kind is not Kind.BROKEN:
        return ""
    items = _items(view, piece)
    lost = [each for each in items if _is_lost(view, each)]
    if len(lost) == len(items):
        return f"nothing brings its files any more; {_give_up(task, lost)}"
    if lost:
        return f"{_give_up(task, lost)}; then `jim task recover {task.name}` makes a new piece of the others"
    again = f"`jim task retry {task.name}` lets it wait for its files again"
    broken = next((each for each in items if each.there < 0), None)
    return f"{_of_waiting(view, task, broken)}; then {again}" if broken else again


def _give_up(task: Task, items: list[Item]) -> str:
    names = shlex.join(each.name for each in items[:NAMED]) + " …" * (len(items) > NAMED)
    return f"`jim task drop {task.name} {names} --reason WHY` gives {'it' if len(items) == 1 else 'them'} up"

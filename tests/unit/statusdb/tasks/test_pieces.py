"""Pieces of tasks in a store."""

from __future__ import annotations

from jim.statusdb.task_rows import Ended, NewItem, NewPiece, Part, PieceState
from tests.unit.statusdb.tasks.planning import add, items, planned


def test_pieces_count_once_their_plan_has_ended(store):
    task = add(store)
    store.pools.add_items(task, [NewItem("a")])
    item = store.pools.item_named(task, "a").id
    store.pieces.add(task, 0, [NewPiece("", {"files": [item]}, (Part(item),))])
    assert (store.pieces.one(task, 0), store.pieces.ready(task, 9), store.tasks.counts(task, "pieces")) == (
        None,
        [],
        {},
    )
    store.pieces.drop_unplanned(task)
    store.pieces.add(task, 0, [NewPiece("", {"files": [item]}, (Part(item, 1, 5),))])
    store.pieces.end_plan(task, 1, [item])
    assert [each.p for each in store.pieces.ready(task, 9)] == [0]
    assert store.pieces.parts_of(task, 0) == [Part(item, 1, 5)]
    assert items(store, task) == {"a": "acquired"}


def test_the_states_of_items_follow_from_their_pieces(store):
    task = planned(store, "ab", "bc")
    assert items(store, task) == {"a": "acquired", "b": "acquired", "c": "acquired", "d": "available"}
    store.pieces.move(task, [Ended(0, PieceState.COMPLETED)])
    assert items(store, task) == {"a": "completed", "b": "acquired", "c": "acquired", "d": "available"}
    store.pieces.move(task, [Ended(1, PieceState.FAILED, "exit 3")])
    assert items(store, task) == {"a": "completed", "b": "failed", "c": "failed", "d": "available"}
    store.pieces.move(task, [Ended(1, PieceState.SENT)])
    assert items(store, task)["b"] == "acquired"
    store.pieces.move(task, [Ended(1, PieceState.COMPLETED)])
    assert items(store, task)["b"] == "completed"
    assert store.tasks.counts(task, "items") == {"completed": 3, "available": 1}
    assert store.tasks.counts(task, "pieces") == {"completed": 2}

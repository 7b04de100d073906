"""Tasks in a store, with items and pieces that a planner could have made."""

from __future__ import annotations

from jim.statusdb import task_spec
from jim.statusdb.task_rows import NewItem, NewPiece, Part
from jim.statusdb.task_spec import Release, SourceSpec, Spec, Split

RELEASE = Release(at_once=5, first=5, probe_seconds=600, queued=5, every_seconds=60)
SPEC = Spec("t", "", {}, (SourceSpec("list"),), Split(), task_spec.Test(), RELEASE, 3, "", to_test="abc")


def add(store, name="t", digest="d1", **spec):
    return store.tasks.add(name, "f00d", "me", SPEC._replace(**spec), digest, {"at_once": 5}, "me, by hand")


def planned(store, *pieces):
    """Add a task with items a, b … of group g, and pieces of these."""
    task = add(store)
    store.pools.add_items(task, [NewItem(name, "g") for name in "abcd"])
    known = {name: store.pools.item_named(task, name).id for name in "abcd"}
    made = [
        NewPiece("g", {"files": [known[n] for n in names]}, tuple(Part(known[n]) for n in names)) for names in pieces
    ]
    store.pieces.add(task, 0, made)
    store.pieces.end_plan(task, len(made), {known[n] for names in pieces for n in names})
    return task


def items(store, task):
    return {each.name: each.state.value for each in store.pools.find_items(task, "*", "", 10)}

"""What tasks count on, of whatever store there is."""

from __future__ import annotations

from contextlib import closing

import pytest

from jim.clock import Clock
from jim.errors import UnknownJob
from jim.statusdb import empty_store, task_spec
from jim.statusdb.task_rows import Ended, ItemState, NewItem, NewPiece, Part, PieceState, TaskState, WaveState
from jim.statusdb.task_spec import Release, SourceSpec, Spec, Split
from tests.unit.statusdb.grounds import GROUNDS

RELEASE = Release(at_once=5, first=5, probe_seconds=600, queued=5, every_seconds=60)
SPEC = Spec("t", "", {}, (SourceSpec("list"),), Split(), task_spec.Test(), RELEASE, 3, "", to_test="abc")


@pytest.fixture(params=GROUNDS)
def store(request, tmp_path):
    (tmp_path / "state").mkdir()
    with closing(GROUNDS[request.param](tmp_path / "state").open()) as made:
        yield made


def add(store, name="t", digest="d1", **spec):
    return store.add_task(name, "f00d", "me", SPEC._replace(**spec), digest, {"at_once": 5}, "me, by hand")


def planned(store, *pieces):
    """Add a task with items a, b … of group g, and pieces of these."""
    task = add(store)
    store.add_items(task, [NewItem(name, "g") for name in "abcd"])
    known = {name: store.item_named(task, name).id for name in "abcd"}
    made = [
        NewPiece("g", {"files": [known[n] for n in names]}, tuple(Part(known[n]) for n in names)) for names in pieces
    ]
    store.add_task_pieces(task, 0, made)
    store.end_plan(task, len(made), {known[n] for names in pieces for n in names})
    return task


def items(store, task):
    return {each.name: each.state.value for each in store.find_items(task, "*", "", 10)}


def test_a_name_has_one_task_which_is_replaced_only_before_it_starts(store):
    first = add(store)
    assert add(store) == 0, "the same content"
    second = add(store, digest="d2")
    assert second
    assert store.task(first) is None or first == second
    store.set_task(second, state=TaskState.RUNNING)
    assert add(store, digest="d3") == 0
    assert [(each.name, each.digest, each.priority) for each in store.tasks()] == [("t", "d2", 3)]
    assert store.any_live_task()
    with pytest.raises(UnknownJob, match="there is no task 'u'"):
        store.task_named("u")


def test_without_a_status_db_an_unknown_task_is_not_looked_for_in_the_working_directory():
    with pytest.raises(UnknownJob, match="there is no task 'u' in a state directory without a status DB"):
        empty_store(Clock()).task_named("u")


def test_a_test_that_has_passed_counts_for_what_it_depends_on(store):
    store.set_task(add(store), state=TaskState.READY, tested="abc")
    assert store.task(add(store, digest="d2")).state is TaskState.READY
    assert store.task(add(store, digest="d3", to_test="else")).state is TaskState.CONFIGURED


def test_an_item_is_added_once_by_its_name(store):
    task = add(store)
    assert store.add_items(task, [NewItem("a"), NewItem("b", "g")]) == 2
    assert store.add_items(task, [NewItem("b", "other"), NewItem("c")]) == 1
    assert store.task_counts(task, "items") == {"available": 3}
    assert store.task_counts(task, "items", "g") == {"available": 1}
    assert [each.grp for each in store.dirty_groups(task)] == ["", "g"]
    assert store.wrong_in_tasks() == dict.fromkeys(store.wrong_in_tasks(), 0)


def test_a_group_that_changes_while_it_is_planned_stays_to_be_planned(store):
    task = add(store)
    store.add_items(task, [NewItem("a")])
    (group,) = store.dirty_groups(task)
    store.make_dirty(task, "", flush=True)
    store.is_planned(group)
    (group,) = store.dirty_groups(task)
    assert group.flush == 1
    store.is_planned(group)
    assert store.dirty_groups(task) == []


def test_pieces_count_once_their_plan_has_ended(store):
    task = add(store)
    store.add_items(task, [NewItem("a")])
    item = store.item_named(task, "a").id
    store.add_task_pieces(task, 0, [NewPiece("", {"files": [item]}, (Part(item),))])
    assert (store.piece(task, 0), store.ready_pieces(task, 9), store.task_counts(task, "pieces")) == (None, [], {})
    store.drop_unplanned(task)
    store.add_task_pieces(task, 0, [NewPiece("", {"files": [item]}, (Part(item, 1, 5),))])
    store.end_plan(task, 1, [item])
    assert [each.p for each in store.ready_pieces(task, 9)] == [0]
    assert store.parts_of(task, 0) == [Part(item, 1, 5)]
    assert items(store, task) == {"a": "acquired"}


def test_the_states_of_items_follow_from_their_pieces(store):
    task = planned(store, "ab", "bc")
    assert items(store, task) == {"a": "acquired", "b": "acquired", "c": "acquired", "d": "available"}
    store.move_pieces(task, [Ended(0, PieceState.COMPLETED)])
    assert items(store, task) == {"a": "completed", "b": "acquired", "c": "acquired", "d": "available"}
    store.move_pieces(task, [Ended(1, PieceState.FAILED, "exit 3")])
    assert items(store, task) == {"a": "completed", "b": "failed", "c": "failed", "d": "available"}
    store.move_pieces(task, [Ended(1, PieceState.SENT)])
    assert items(store, task)["b"] == "acquired"
    store.move_pieces(task, [Ended(1, PieceState.COMPLETED)])
    assert items(store, task)["b"] == "completed"
    assert store.task_counts(task, "items") == {"completed": 3, "available": 1}
    assert store.task_counts(task, "pieces") == {"completed": 2}


def test_a_wave_has_its_pieces_until_they_are_ready_again(store):
    task = planned(store, "a", "b", "c")
    store.intend_wave(task, 1, store.ready_pieces(task, 2), "sum")
    (wave,) = store.live_waves(task)
    assert (wave.state, wave.size, wave.sha256, store.task(task).next_wave) == (WaveState.INTENDED, 2, "sum", 2)
    assert [(each.p, each.n, each.state) for each in store.pieces_of_wave(task, 1)] == [(0, 0, "sent"), (1, 1, "sent")]
    store.ready_again(task, {1: 2}, "")
    assert [(each.p, each.attempts) for each in store.ready_pieces(task, 9)] == [(1, 2), (2, 0)]
    assert [each.p for each in store.pieces_of_wave(task, 1)] == [0]
    store.set_wave(wave, state=WaveState.SETTLED, grid=7)
    assert store.live_waves(task) == []
    assert store.wave_of(7).w == 1
    assert store.wave_of(8) is None


def test_what_is_wrong_is_found(store):
    task = planned(store, "ab", "b")
    assert store.wrong_in_tasks()["two pieces share a part of an item"] == 1
    store.move_items(task, [store.item_named(task, "d").id], ItemState.DROPPED)
    assert store.wrong_in_tasks()["the tally differs"] == 0
    store.set_items([store.item_named(task, "d").id], live=3)
    assert store.wrong_in_tasks()["the counts of an item differ"] == 1


def test_nothing_of_a_removed_task_is_left(store):
    task = planned(store, "a")
    store.remove_task(task)
    assert store.tasks() == []
    assert store.task_counts(task, "items") == {}
    assert store.task_journal(task) == []

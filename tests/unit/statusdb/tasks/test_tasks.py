"""Tasks in a store, as a whole."""

from __future__ import annotations

import pytest

from jim.clock import Clock
from jim.errors import UnknownJob
from jim.statusdb import empty_store
from jim.statusdb.task_rows import ItemState, TaskState
from tests.unit.statusdb.tasks.planning import add, planned


def test_a_name_has_one_task_which_is_replaced_only_before_it_starts(store):
    first = add(store)
    assert add(store) == 0, "the same content"
    second = add(store, digest="d2")
    assert second
    assert store.tasks.one(first) is None or first == second
    store.tasks.change(second, state=TaskState.RUNNING)
    assert add(store, digest="d3") == 0
    assert [(each.name, each.digest, each.priority) for each in store.tasks.all()] == [("t", "d2", 3)]
    assert store.tasks.any_live()
    with pytest.raises(UnknownJob, match="there is no task 'u'"):
        store.tasks.named("u")


def test_without_a_status_db_an_unknown_task_is_not_looked_for_in_the_working_directory():
    with pytest.raises(UnknownJob, match="there is no task 'u' in a state directory without a status DB"):
        empty_store(Clock()).tasks.named("u")


def test_a_test_that_has_passed_counts_for_what_it_depends_on(store):
    store.tasks.change(add(store), state=TaskState.READY, tested="abc")
    assert store.tasks.one(add(store, digest="d2")).state is TaskState.READY
    assert store.tasks.one(add(store, digest="d3", to_test="else")).state is TaskState.CONFIGURED


def test_what_is_wrong_is_found(store):
    task = planned(store, "ab", "b")
    assert store.tasks.wrong()["two pieces share a part of an item"] == 1
    store.pools.move_items(task, [store.pools.item_named(task, "d").id], ItemState.DROPPED)
    assert store.tasks.wrong()["the tally differs"] == 0
    store.pools.set_items([store.pools.item_named(task, "d").id], live=3)
    assert store.tasks.wrong()["the counts of an item differ"] == 1


def test_nothing_of_a_removed_task_is_left(store):
    task = planned(store, "a")
    store.tasks.remove(task)
    assert store.tasks.all() == []
    assert store.tasks.counts(task, "items") == {}
    assert store.tasks.journal(task) == []

"""Items of tasks and their groups, in a store."""

from __future__ import annotations

from jim.statusdb.task_rows import NewItem
from tests.unit.statusdb.tasks.planning import add


def test_an_item_is_added_once_by_its_name(store):
    task = add(store)
    assert store.pools.add_items(task, [NewItem("a"), NewItem("b", "g")]) == 2
    assert store.pools.add_items(task, [NewItem("b", "other"), NewItem("c")]) == 1
    assert store.tasks.counts(task, "items") == {"available": 3}
    assert store.tasks.counts(task, "items", "g") == {"available": 1}
    assert [each.grp for each in store.pools.dirty_groups(task)] == ["", "g"]
    assert store.tasks.wrong() == dict.fromkeys(store.tasks.wrong(), 0)


def test_a_group_that_changes_while_it_is_planned_stays_to_be_planned(store):
    task = add(store)
    store.pools.add_items(task, [NewItem("a")])
    (group,) = store.pools.dirty_groups(task)
    store.pools.make_dirty(task, "", flush=True)
    store.pools.is_planned(group)
    (group,) = store.pools.dirty_groups(task)
    assert group.flush == 1
    store.pools.is_planned(group)
    assert store.pools.dirty_groups(task) == []

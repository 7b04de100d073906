"""What people write into the inbox by hand is checked as what doors write is."""

from __future__ import annotations

import pytest

from jim.doors import inbox
from jim.statusdb.task_rows import TaskState
from tests.unit.tasks.ground import events

FIX = "memory_mb: expected a whole number, found inf (memory of one local job)"


@pytest.mark.parametrize(
    ("verb", "content", "why"),
    [
        ("fix", {"changes": {"nosuch": 3}}, "'nosuch': unknown attribute"),
        ("fix", {"changes": {"memory_mb": float("inf")}}, FIX),
        ("fix", {"changes": {"job_type": "executable"}}, "job_type: stays as it is"),
        ("fix", {"changes": {"inputs": ["x"]}}, "inputs: stays as it is"),
        ("fix", {"changes": [1]}, "changes: expected a table, found [1]"),
        ("fix", {}, "changes: missing"),
        ("throttle", {"at_once": 1e40}, "at_once: expected a whole number, found 1e+40"),
        ("throttle", {"at_once": 10**40}, "at_once=1" + "0" * 40 + ": must be at most 999,999,999"),
        ("throttle", {"at_once": -1}, "at_once=-1: must be 0 or more"),
        ("throttle", {"queued": -3}, "queued=-3: must be 1 or more"),
        ("throttle", {"first": True}, "first: expected a whole number, found true"),
        ("throttle", {"first": "3"}, "first: expected a whole number, found '3'"),
        ("test", {"pieces": -3}, "pieces=-3: must be 1 or more"),
        ("priority", {"priority": 1001}, "1001: expected -1,000 to 1,000"),
        ("priority", {}, "priority: missing"),
        ("retry", {"most": -1}, "most=-1: must be 1 or more"),
        ("retry", {"reason": ["x"]}, "reason: expected a text of one line, found ['x']"),
        ("recover", {"attributes": {"nosuch": 3}}, "t: no piece has failed"),
        ("recover", {"attributes": 3}, "attributes: expected a table, found 3"),
        ("add", {"items": ["a\nb"]}, "items: expected a list of names that can be printed, found ['a\\nb']"),
        ("drop", {"items": ["a"]}, "reason: missing"),
        ("close", {"group": {}}, "group: expected a text of one line, found {}"),
        ("pause", {"kill": 2}, "kill: expected true or false, found 2"),
    ],
)
def test_a_wish_that_no_door_writes_changes_nothing_and_the_journal_says_why(ground, verb, content, why):
    ground.start(events(4, 2))
    before = ground.task()
    ground.ask(verb, **content)
    (told,) = [each for each in ground.journal() if each.startswith(f"{verb} changes nothing: ")]
    assert told.startswith(f"{verb} changes nothing: {why}")
    assert (ground.task().throttle, ground.task().spec) == (before.throttle, before.spec)
    assert inbox.names(ground.site.state) == []
    ground.ask("fix", changes={"memory_mb": 400})
    assert "fix 1: memory_mb 400" in ground.journal()
    ground.until_state(TaskState.FINISHED)


def test_failed_pieces_are_not_recovered_with_unknown_attributes(ground):
    ground.start(events(4, 2))
    ground.until(lambda: len(ground.batch.tasks) == 2)
    ground.until_state(TaskState.FINISHED, code=1, seconds=300.0)
    ground.ask("recover", attributes={"nosuch": 3})
    ground.go(2)
    assert ground.journal()[-1].startswith("recover changes nothing: 'nosuch': unknown attribute")
    assert inbox.names(ground.site.state) == []


def test_recovered_pieces_may_have_other_input_files(ground):
    """As `jim task recover` allows."""
    ground.start(events(4, 2))
    ground.until(lambda: len(ground.batch.tasks) == 2)
    ground.until_state(TaskState.FINISHED, code=1, seconds=300.0)
    ground.ask("recover", attributes={"inputs": []})
    ground.go(3)
    assert "recover: 2 failed pieces are replaced by 2" in ground.journal()

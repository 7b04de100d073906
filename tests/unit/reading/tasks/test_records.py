"""What is read of a task as values, and the records that programs get."""

from __future__ import annotations

from jim.reading.tasks.pace import Eta
from jim.reading.tasks.records import GroupCounts, TaskSeen
from jim.statusdb.task_rows import TaskState

SEEN = TaskSeen(
    *("mc", "events", TaskState.RUNNING, "", "", ()),
    open=False,
    items={},
    pieces={"ready": 2},
    pieces_in_all=2,
    campaigns=True,
    outputs={},
    on_the_way=0,
    queued=0,
    throttle={},
    eta=None,
    priority=0,
    tests=0,
    tested=True,
    created="2026-01-31T12:00:00Z",
    updated="2026-01-31T12:00:00Z",
    owner="ada",
)


def test_a_record_has_plain_values_in_the_order_of_the_task() -> None:
    record = SEEN.to_record()
    assert (record["name"], record["state"], record["pieces"]) == ("mc", "running", {"ready": 2})
    assert list(record)[:3] == ["name", "summary", "state"]
    assert "eta" not in record
    assert (record["eta_seconds"], record["eta_of"]) == (None, None)


def test_how_long_a_task_still_takes_is_told_in_whole_seconds_with_its_ground() -> None:
    eta = Eta(seconds=89.6, left=3, last_hour=120)
    record = SEEN._replace(eta=eta).to_record()
    assert (record["eta_seconds"], record["eta_of"]) == (90, {"left": 3, "completed_last_hour": 120})


def test_the_counts_of_a_group_stand_beside_its_name() -> None:
    record = GroupCounts("run 1", "", {"items": {"completed": 3}, "pieces": {"failed": 1}}).to_record()
    assert record == {"group": "run 1", "closed": "", "items": {"completed": 3}, "pieces": {"failed": 1}}

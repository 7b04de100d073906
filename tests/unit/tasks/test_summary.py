"""What the group of an account may read of its tasks."""

from __future__ import annotations

import json
from typing import Any

from jim.statusdb.task_rows import TaskState
from jim.tasks.effects import TaskVerb
from tests.unit.tasks.ground import EVENTS, Ground

TEN = f"""\
[[task]]
name = "t"
{EVENTS}
source = [ {{ events = 10, events_per_piece = 5 }} ]
"""


def told(ground: Ground) -> list[dict[str, Any]]:
    ground.go(5, seconds=20)
    found: list[dict[str, Any]] = json.loads(ground.site.summary.read_text())["tasks"]
    return found


def test_summary_json_tells_how_far_tasks_are_also_if_no_grid_job_has_changed(ground: Ground) -> None:
    ground.create(TEN)
    (task,) = told(ground)
    assert (task["name"], task["state"], task["pieces"]) == ("t", "configured", {})
    ground.ask(TaskVerb.START, untested=True)
    ground.until(lambda: len(ground.batch.tasks) == 2)
    (task,) = told(ground)
    assert (task["state"], task["items"], task["pieces"]) == ("running", {"acquired": 1}, {"sent": 2})
    ground.until_state(TaskState.FINISHED)
    (task,) = told(ground)
    assert (task["outcome"], task["pieces"]) == ("completed", {"completed": 2})
    ground.ask(TaskVerb.REMOVE)
    assert told(ground) == []

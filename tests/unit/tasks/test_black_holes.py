"""Scenarios of hosts that eat jobs, while tasks run; on a clock that is set."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from jim.reading.tasks import waits as task_waits
from jim.reading.view import View
from jim.statusdb.task_rows import TaskState
from jim.tasks.throttle_row import read
from tests.support.farm import SETTINGS, Farm, Node, let_time_be_told
from tests.support.sampled import sampled
from tests.unit.tasks.ground import SH, Ground, a_list

FIRST = 10


@dataclass
class TaskFarm(Farm):
    """Hosts on which payloads keep a diary, and on which nobody but tasks sends jobs."""

    def until_ended(self, seconds: int = 4 * 3600) -> None:
        for _ in range(seconds):
            self.second()
            if self.world.task().state in (TaskState.FINISHED, TaskState.PAUSED):
                return
        raise AssertionError(f"{self.world.counts('pieces')} {self.world.journal()[-9:]}")

    def _end(self, node: Node) -> None:
        if not node.leaves and node.code == 0:
            task = self.world.batch.tasks[node.has]
            arguments = [value for _, word, value in self.world.batch._job_lines(task) if word == "arg"]
            self.world.diary.append(tuple(arguments[1:]))
        super()._end(node)


@pytest.fixture
def ground(tmp_path, monkeypatch):
    let_time_be_told(monkeypatch)
    return Ground(tmp_path, monkeypatch, **SETTINGS)


def start(ground, many):
    names = [f"/d/{n:02}" for n in range(many)]
    ground.start(
        f"""
        [[task]]
        name = "t"
        {SH}
        source = [ {{ list = "{a_list(ground.place, *names)}" }} ]
        split = {{ splitter = "FileBased", parameters = {{ files_per_job = 1 }} }}
        release = {{ first = {FIRST}, at_once = 40, every_seconds = 0 }}
        """
    )
    return names


def allowances(ground):
    """Return the changes of the allowance that the journal tells."""
    return [line for line in ground.journal() if line.startswith("throttle: ")]


@pytest.mark.parametrize("can_avoid", sampled([False, True]))
def test_a_black_hole_is_avoided_and_costs_the_task_nothing(ground, can_avoid):
    ground.batch.can_avoid = can_avoid
    names = start(ground, 60)
    on = TaskFarm(ground, [Node("hole0", 2.0, code=3), *(Node(f"wn{n}", 40.0) for n in range(9))])
    for _ in range(100):
        on.second()
    told = [each.what for each in task_waits.waits(View(ground.site, ground.store, ground.clock), ground.task())]
    assert "JIM avoids 1 host: hole0" in told
    on.until_ended()
    assert ground.task().outcome == "completed"
    assert ground.done() == dict.fromkeys(names, 1)
    assert on.tried["hole0"] <= 6 + 1, "it has one slot"
    assert {
        each.spent for n in {each.grid for each in ground.store.waves.all(1)} for each in ground.store.local_jobs(n)
    } == {1}
    row = read(ground.task().throttle)
    assert (row.throttle.excess, row.allowance) == (0, 40), allowances(ground)


def test_if_all_hosts_fail_none_is_avoided_and_the_throttle_shrinks(ground):
    start(ground, 60)
    on = TaskFarm(ground, [Node(f"wn{n}", 2.0, code=3) for n in range(10)])
    for _ in range(120):
        on.second()
    assert not (ground.site.work / "avoid").exists() or not (ground.site.work / "avoid").read_text().strip()
    assert read(ground.task().throttle).allowance == 1
    assert read(ground.task().throttle).throttle.probes
    assert sum(on.tried.values()) <= 40


@pytest.mark.torture
def test_the_only_host_is_never_avoided(ground):
    names = start(ground, 30)
    on = TaskFarm(ground, [Node("only", 2.0, code=3)])
    for _ in range(60):
        on.second()
    assert not (ground.site.work / "avoid").exists() or not (ground.site.work / "avoid").read_text().strip()
    on.nodes[0].code = 0
    on.until_ended()
    assert len(ground.done()) + ground.counts("pieces").get("failed", 0) == len(names)
    assert set(ground.done().values()) == {1}


@pytest.mark.torture
def test_a_wrapper_that_leaves_is_fenced_and_counts_against_nothing(ground):
    ground.batch.can_avoid = False
    names = start(ground, 30)
    on = TaskFarm(ground, [Node("hole0", 2.0, code=3), *(Node(f"wn{n}", 40.0) for n in range(3))])
    on.until_ended()
    assert on.left["hole0"] >= 1
    assert ground.done() == dict.fromkeys(names, 1)
    assert len(ground.batch.ledger) == len(names) + on.tried["hole0"], "those that have left ran nothing"
    assert ground.task().outcome == "completed"

"""When a test of a task begins: after a look at its sources that began after the test did."""

from __future__ import annotations

import os

import pytest

from jim.statusdb.task_rows import TaskState
from jim.tasks.effects import TaskVerb
from tests.unit.tasks.ground import SH

NOTHING = "there is nothing to test yet: no source has an item"
DIRECTORY = 'source = [ { directory = "in", files = "*.raw", every_seconds = 600, stable_seconds = 0 } ]'
LIST = 'source = [ { list = "names.txt", every_seconds = 600 } ]'


def create(ground, source):
    (ground.place / "in").mkdir()
    (ground.place / "names.txt").write_text("")
    ground.create(f'[[task]]\nname = "t"\n{SH}\n{source}\nsplit = {{ splitter = "FileBased" }}\n')


def bring(ground, name):
    """Bring a file, and a line."""
    (ground.place / "in" / f"{name}.raw").write_text("x")
    with (ground.place / "names.txt").open("a") as file:
        file.write(f"/d/{name}\n")


@pytest.mark.parametrize("source", [DIRECTORY, LIST])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_test_sees_what_came_since_an_earlier_test(ground, source, restarted):
    create(ground, source)
    ground.ask(TaskVerb.TEST)
    ground.until_state(TaskState.CONFIGURED)
    assert ground.task().reason == f"test 1 failed: {NOTHING}"
    ground.ask(TaskVerb.TEST)  # at once: no turn in between lets the task be forgotten
    ground.until_state(TaskState.CONFIGURED)
    assert ground.task().reason == f"test 2 failed: {NOTHING}"
    if restarted:
        ground.restart()
    bring(ground, "a")
    ground.ask(TaskVerb.TEST)
    ground.until(lambda: ground.task().state is not TaskState.TESTING or ground.work())
    assert (ground.task().state, ground.task().reason) == (TaskState.READY, "")


@pytest.mark.parametrize("source", [DIRECTORY, LIST])
def test_a_test_of_a_task_that_runs_sees_what_came_since_the_last_look(ground, source):
    create(ground, source)
    ground.ask(TaskVerb.START, untested=True)
    ground.go(20, 1.0)
    bring(ground, "a")
    ground.ask(TaskVerb.TEST)
    for _ in range(20):
        ground.go(2, 1.0)
        ground.work()
    assert ground.task().tests == 1
    assert "test 1 passed: " in ground.journal()


def test_a_test_waits_for_a_look_that_can_be_made(ground):
    create(ground, DIRECTORY)
    ground.ask(TaskVerb.TEST)
    ground.until_state(TaskState.CONFIGURED)
    (ground.place / "in").rename(ground.place / "away")
    ground.ask(TaskVerb.TEST)
    ground.go(10, 10.0)
    assert ground.task().state is TaskState.TESTING
    os.rename(ground.place / "away", ground.place / "in")  # noqa: PTH104
    bring(ground, "a")
    ground.until(lambda: ground.task().state is not TaskState.TESTING or ground.work(), seconds=60.0)
    assert ground.task().state is TaskState.READY

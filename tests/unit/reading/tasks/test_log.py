"""The log of a task: lines with levels, of the task itself and of its local jobs."""

from __future__ import annotations

import pytest

from jim.reading.tasks.log import Level, log_of
from jim.reading.view import View
from jim.statusdb.task_rows import TaskState
from tests.unit.tasks.ground import Ground, events


@pytest.fixture
def ended(tmp_path, monkeypatch):
    """A task of two pieces, one of which has failed twice."""
    ground = Ground(tmp_path, monkeypatch)
    ground.start(events(4, 2))
    ground.until(lambda: len(ground.batch.tasks) == 2)
    ground.begin()
    ground.end_one("1", 1)
    ground.batch.kill("1", 2)
    ground.until(lambda: len(ground.batch.tasks) == 3)
    ground.begin()
    ground.end(code=3)
    ground.until_state(TaskState.FINISHED, code=3)
    ground.ask("redo")
    return ground


def lines(ground, least=Level.INFO, last=100):
    view = View(ground.site, ground.store, ground.clock)
    return [(each.level, each.of, each.what) for each in log_of(view, ground.task(), least, last)]


def test_levels_choose_what_matters(ended):
    errors = [(Level.ERROR, "t/1 = 1.1", "failed"), (Level.ERROR, "t", "with failures")]
    assert lines(ended, Level.ERROR) == errors
    assert [each for each in lines(ended, Level.WARNING) if each not in errors] == [
        (Level.WARNING, "t/1 = 1.1", "waiting"),
        (Level.WARNING, "t", "redo changes nothing"),
    ]
    usual = lines(ended)
    assert (Level.INFO, "t", "handed in as 1") in usual
    assert not any(level is Level.DEBUG for level, _, _ in usual)
    assert (Level.DEBUG, "t/0 = 1.0", "completed") in lines(ended, Level.DEBUG)


def test_the_last_lines_are_told_the_latest_last(ended):
    assert lines(ended, last=2) == lines(ended)[-2:]

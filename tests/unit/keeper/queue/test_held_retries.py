"""Further attempts at local jobs while most first ones of their grid job fail."""

from __future__ import annotations

import pytest

from jim.model import State
from jim.reading.job import waits
from jim.reading.view import View
from jim.site.file import Limits
from jim.statusdb.grid.first_attempts import PAUSE_SECONDS
from tests.support.stand_ins import World

RETRY = [{"when": "exit 3", "times": 2, "delay": "PT1S"}]


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch, limits=Limits(attempts=3))


def sent(world, size=30):
    """Submit a grid job of which all local jobs are tried three times, and let all of it be sent."""
    grid = world.submit(size, retry=RETRY)
    world.until(lambda: len(world.batch.tasks) == size)
    return grid


def begin(world):
    """Start all that is in the queue; return it."""
    waiting = [key for key, task in world.batch.tasks.items() if task.state is State.SUBMITTED]
    return [key for key in waiting if world.batch.start(*key)]


def end(world, rounds, seconds, code=3):
    """Let all that is sent end so; return how many attempts are sent meanwhile."""
    before = len(world.batch.tasks)
    for _ in range(rounds):
        begin(world)
        for key, task in list(world.batch.tasks.items()):
            if task.state is State.RUNNING:
                world.batch.finish(*key, code=code)
        world.go(1, seconds)
    return len(world.batch.tasks) - before


def told(world, grid):
    view = View(world.site, world.store)
    return [each.what for each in waits.of_grid_job(view, world.store.grid_job(grid))]


def test_while_most_first_attempts_fail_one_is_tried_again_now_and_then(world):
    grid = sent(world)
    assert end(world, 120, 1.0) == 1
    assert end(world, 40, PAUSE_SECONDS / 12) == 3, "one in ten minutes"
    held = "most first attempts fail, so one goes every 10 min until one ends well, or 6 have failed"
    assert f"28 local jobs wait for the next attempt; {held}" in told(world, grid)
    world.until(lambda: end(world, 1, 60.0) or world.finished(grid))
    world.until(lambda: end(world, 1, 60.0) is None or world.finished(grid))
    assert len(world.batch.tasks) == 90, "in the end all is tried as often as ever"


def test_once_one_ends_well_all_go_on(world):
    grid = sent(world)
    end(world, 1, 1.0)
    world.until(lambda: begin(world), 1.0)
    assert len(world.batch.tasks) == 31
    end(world, 3, PAUSE_SECONDS, code=0)
    assert len(world.batch.tasks) == 60
    world.until(lambda: end(world, 1, 1.0, code=0) is None or world.finished(grid))
    assert world.store.grid_job(grid).outcome == "completed"
    assert told(world, grid)[0].startswith("finished as completed")


def test_first_attempts_go_as_they_do(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, limits=Limits(attempts=3, queued_per_grid_job=10))
    world.submit(40, retry=RETRY)
    world.until(lambda: len(world.batch.tasks) == 10)
    world.until(lambda: end(world, 1, 1.0) == 0 and len(world.batch.tasks) >= 40)
    assert len(world.batch.tasks) <= 45, "few were tried again before five had failed"


def test_what_a_person_tries_again_goes_at_once(world):
    grid = sent(world, 10)
    end(world, 5, 1.0)
    before = len(world.batch.tasks)
    world.wish("cancel", f"{grid}.7")
    world.go(3, 1.0)
    world.wish("retry", f"{grid}.7")
    world.go(3, 1.0)
    assert len(world.batch.tasks) == before + 1


def test_few_failures_beside_what_runs_hold_nothing_back(world):
    sent(world)
    begin(world)
    for n in range(1, 15):
        world.batch.finish("1", n, code=3)
    world.go(5, 1.0)
    assert len(world.batch.tasks) == 44

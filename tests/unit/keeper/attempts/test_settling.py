"""What started and left no exit record: whose word tells that it is dead, and how it died."""

from __future__ import annotations

import os

from jim.model import State
from jim.site.file import Batch
from tests.support.stand_ins import World


def test_a_claim_that_is_touched_is_alive_whatever_accounting_says(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, batch=Batch(touch_seconds=60))
    world.batch.end_is_death = False
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.go(2, 1.0)
    world.batch.kill(1)
    claim = world.site.work / "1/s1/claim.1"
    for minute in range(10):
        os.utime(claim, (minute * 60, minute * 60))
        world.go(10, 6.0)
        assert world.state(grid) is State.RUNNING, world.store.journals.of(grid)
    world.until(lambda: world.state(grid) is State.WAITING, seconds=10.0)
    world.until(lambda: ("2", 1) in world.batch.tasks)


def test_how_another_job_with_the_same_id_has_ended_is_no_end_of_ours(world):
    first = world.submit(1, key="a")
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.until(lambda: world.state(first) is State.RUNNING)
    world.batch.tasks.clear()  # a crash has forgotten it, and gives its id out again; it runs on
    world.batch.next_id = 0
    second = world.submit(1, key="b")
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.kill(1)
    world.until(lambda: world.state(second) is State.WAITING)
    world.go(10, 1.0)
    assert world.state(first) is State.RUNNING


def test_the_end_of_a_second_start_is_not_that_of_the_first(world):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.until(lambda: world.state(grid) is State.RUNNING)
    (world.site.work / "1/s1/refused.1.second").touch()  # put back into the queue, started again, and refused
    task = world.batch.tasks["1", 1]
    task.state, task.code = State.COMPLETED, 0  # some accounts say so of every end that nobody saw
    world.go(20, 1.0)
    assert world.state(grid) is State.RUNNING
    world.until(lambda: world.state(grid) is State.WAITING)


def test_a_record_is_waited_for_from_the_end_on_and_not_from_when_listings_missed_the_job(tmp_path, monkeypatch):
    """A file of another node may be seen late."""
    world = World(tmp_path, monkeypatch, batch=Batch(touch_seconds=60, visible_seconds=10.0))
    world.batch.leaves_nothing = True
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.until(lambda: world.state(grid) is State.RUNNING)
    task = world.batch.tasks["1", 1]
    task.hidden = 10**6
    world.go(20, 1.0)
    task.hidden = 0
    world.batch.kill(1)
    world.go(8, 1.0)
    assert world.state(grid) is State.RUNNING
    world.batch.finish(1, spool=False)
    world.until(lambda: world.state(grid) is State.COMPLETED)

"""Batch jobs that can never start, against a clock that is set."""

from __future__ import annotations

import pytest

from jim.model import State
from jim.site.file import Batch, Limits
from tests.support.stand_ins import World

WORDS = "can never start as it was asked for: PartitionTimeLimit"


@pytest.fixture
def world(tmp_path, monkeypatch):
    batch = Batch(touch_seconds=10, query_seconds=1.0, visible_seconds=1.0)
    world = World(tmp_path, monkeypatch, batch=batch, limits=Limits(stuck_seconds=60.0))
    world.submit(2)
    world.until(lambda: len(world.batch.tasks) == 2)
    return world


def forbid(world, index, words="PartitionTimeLimit"):
    world.batch.tasks["1", index].never = words


def test_it_is_fenced_and_cancelled_and_fails_with_the_words_of_the_batch_system(world):
    forbid(world, 1)
    world.go(55, 1.0)
    assert world.state(1, 0) is State.SUBMITTED
    world.until(lambda: world.state(1, 0) is State.FAILED)
    assert world.store.local_job(1, 0).reason == WORDS
    world.until(lambda: world.batch.tasks["1", 1].state is State.KILLED)
    assert not world.batch.start(1, 1)  # the claim is the keeper's
    assert world.state(1, 1) is State.SUBMITTED
    world.batch.start(1, 2)
    world.batch.finish(1, 2)
    world.until(lambda: world.store.grid_job(1).outcome)
    assert world.store.grid_job(1).reason == f"1 of 2 local jobs failed: {WORDS}"
    assert len(world.batch.ledger) == 1


def test_the_next_keeper_goes_on_counting(world):
    forbid(world, 1)
    world.go(40, 1.0)
    world.restart()
    world.go(25, 1.0)
    assert world.state(1, 0) is State.FAILED


def test_the_time_begins_anew_when_the_batch_system_thinks_better_of_it(world):
    forbid(world, 1)
    world.go(40, 1.0)
    forbid(world, 1, "")
    world.go(3, 1.0)
    forbid(world, 1)
    world.go(40, 1.0)
    assert world.state(1, 0) is State.SUBMITTED


def test_one_that_has_started_after_all_is_adopted(world):
    """The queue does not show the start yet, and no notice of it has come: the claim alone tells."""
    forbid(world, 1)
    world.go(50, 1.0)
    world.batch.start(1, 1)
    world.batch.tasks["1", 1].state = State.SUBMITTED
    for notice in (world.site.work / "spool").iterdir():
        notice.unlink()
    world.until(lambda: world.store.attempts(1, n=0)[0].started)
    assert world.store.attempts(1, n=0)[0].verdict == ""
    world.batch.finish(1, 1)
    world.until(lambda: world.state(1, 0) is State.COMPLETED)
    assert world.batch.ledger.count((world.batch.tasks["1", 1].mark, 1)) == 1


def test_one_that_somebody_cancels_meanwhile_is_killed(world):
    forbid(world, 1)
    world.until(lambda: world.store.local_job(1, 0).reason == WORDS)
    world.wish("cancel", "1.0")
    world.until(lambda: world.state(1, 0) is State.KILLED)


def test_no_fence_reaches_worker_nodes_that_do_not_see_the_work_directory(world):
    world.batch.shared_work = False
    forbid(world, 1)
    world.go(100, 1.0)
    assert world.state(1, 0) is State.SUBMITTED

"""What ran into its time limit is final; what did not, whatever is said of it, is tried again."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pytest

from jim import request
from jim.clock import age_seconds
from jim.doors import inbox
from jim.model import State
from jim.site.file import Batch
from tests.support.splitting_work import submit
from tests.support.stand_ins import World

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
IN_THE_QUEUE = (State.SUBMITTED, State.RUNNING)


def begun(world: World, grid: int) -> None:
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.go(2, 1.0)
    assert world.state(grid) is State.RUNNING


def killed(world: World, ended: str) -> None:
    """End it by signal 9, as late as the record says; it began with the year."""
    world.clock.now += age_seconds("2026-01-01T00:00:00Z", ended)
    world.batch.finish(1, 1, None, signal=9, spool=False)
    record = world.site.work / "1/s1/exit.1"
    record.write_text(record.read_text().replace("ended 2026-01-01T00:00:01Z", f"ended {ended}"))
    world.until(lambda: world.state(1) not in IN_THE_QUEUE)


def say_time_limit(world: World) -> None:
    parse = world.batch.parse_history
    world.batch.parse_history = lambda answer: {
        key: each._replace(reason="time limit") for key, each in parse(answer).items()
    }


@pytest.mark.parametrize(
    ("began", "touched", "state"),
    [
        (NOON, 3400, State.WAITING),
        (NOON, 3430, State.FAILED),  # touched once a minute, and taken for alive for three
        (None, 0, State.FAILED),  # a claim that does not say when
        (NOON, -100, State.FAILED),  # the node's clock is wrong
        (NOON, -0.004, State.WAITING),  # never touched: file times are as old as the last tick of the kernel
    ],
)
def test_a_time_limit_is_believed_only_of_what_may_have_lived_so_long(tmp_path, monkeypatch, began, touched, state):
    world = World(tmp_path, monkeypatch, batch=Batch(touch_seconds=60, wall_seconds=3600))
    say_time_limit(world)
    world.batch.began = began
    grid = world.submit(1)
    begun(world, grid)
    os.utime(world.site.work / "1/s1/claim.1", ((NOON + timedelta(seconds=touched)).timestamp(),) * 2)
    world.batch.kill(1)
    world.until(lambda: world.state(grid) not in IN_THE_QUEUE, seconds=10.0)
    assert world.state(grid) is state


def test_each_attempt_is_judged_by_the_limit_that_it_was_sent_with(tmp_path, monkeypatch):
    """Its local job may have another submission by then, with another limit."""
    world = World(tmp_path, monkeypatch, batch=Batch(touch_seconds=60))
    say_time_limit(world)
    world.batch.began = NOON
    world.submit(1, wall_seconds=3600)
    world.submit(1, key="k2", wall_seconds=60)
    world.until(lambda: len(world.batch.tasks) == 2)
    world.batch.start(1)
    world.go(2, 1.0)
    world.store.db.execute("UPDATE submission SET grid = 1, k = 2 WHERE grid = 2")
    world.store.set_local_job(1, 0, submission=2)
    os.utime(world.site.work / "1/s1/claim.1", ((NOON + timedelta(seconds=1000)).timestamp(),) * 2)
    world.batch.kill(1)
    world.until(lambda: world.state(1) not in IN_THE_QUEUE, seconds=10.0)
    assert world.state(1) is State.WAITING


def test_what_ran_while_no_keeper_did_has_reached_its_time_limit(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, batch=Batch(touch_seconds=60, wall_seconds=3600))
    say_time_limit(world)
    world.batch.began = NOON
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    os.utime(world.site.work / "1/s1/claim.1", ((NOON + timedelta(seconds=3590)).timestamp(),) * 2)
    world.batch.kill(1)
    world.restart()
    monkeypatch.setattr(world.clock, "utc", lambda: (NOON + timedelta(hours=2)).isoformat())
    world.until(lambda: world.state(grid) not in IN_THE_QUEUE, seconds=10.0)
    assert world.state(grid) is State.FAILED


def test_a_local_job_has_the_time_limit_of_its_own_piece(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch)
    submit(world, "GenericSplitter", splitter_parameters={"attribute": "wall_seconds", "values": [172_800, 3600]})
    begun(world, 1)
    killed(world, "2026-01-02T01:00:00Z")  # after 25 of 48 hours; the site's usual limit is 24
    assert world.state(1) is State.WAITING


def test_a_time_limit_may_come_from_a_variable(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch)
    asked = {"job_type": "executable", "executable": "/bin/true", "wall_seconds": "$Parameter"}
    asked |= {"splitter": "Parametric", "splitter_parameters": {"Parameters": ["3600", "7200"]}}
    inbox.deposit(world.site.state, "k", request.check(asked)[1] | {"key": "k"})
    begun(world, 1)
    killed(world, "2026-01-01T01:00:01Z")
    assert (world.state(1), world.store.local_job(1, 0).reason) == (
        State.FAILED,
        "time limit: it ran for 3,601 s; killed by signal 9: by the site or for want of memory",
    )


def test_time_in_which_it_was_suspended_does_not_count(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch)
    grid = world.submit(1, wall_seconds=600)
    begun(world, grid)
    world.wish("suspend", str(grid))
    world.until(lambda: world.state(grid) is State.SUSPENDED)
    world.wish("resume", str(grid))
    world.until(lambda: world.state(grid) is State.RUNNING)
    killed(world, "2026-01-01T01:00:20Z")
    assert world.state(grid) is State.WAITING

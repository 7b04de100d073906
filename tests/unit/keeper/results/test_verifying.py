"""Outputs are compared with their exit record; those out of reach for a while are looked at again."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace

import pytest

from jim import files
from jim.evidence.exit_record import Output
from jim.keeper import recorded_outputs
from jim.keeper.recorded_outputs import Claimed
from jim.keeper.results import verifying
from jim.model import State
from jim.workdir import verified

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """Let no worker wait until a file server answers again."""
    monkeypatch.setattr(files, "PAUSES", (0.0, 0.0))


@pytest.fixture
def grid(world):
    """A local job that runs."""
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.go(2)
    return grid


def test_outputs_are_looked_at_again(world, grid, out_of_reach):
    come_back = out_of_reach(verified, "open_inside", errno.EIO)
    world.batch.finish(1, 1, 0, extra=f"file 3 {ABC} a\n", files=[("a", b"abc")])
    world.go(10, 100.0)
    assert world.state(grid) is State.COMPLETING
    come_back()
    world.until(lambda: world.finished(grid), seconds=5.0)
    assert (world.state(grid), len(world.batch.ledger)) == (State.COMPLETED, 1)


def test_outputs_that_stay_out_of_reach_are_bad_in_the_end(world, grid, out_of_reach):
    out_of_reach(verified, "open_inside", errno.EIO)
    world.batch.finish(1, 1, 0, extra=f"file 3 {ABC} a\n", files=[("a", b"abc")])
    world.go(50, 100.0)
    assert world.state(grid) is not State.COMPLETING
    world.until(lambda: world.store.attempts(grid)[0].reason)
    assert world.store.attempts(grid)[0].reason == "outputs do not match the exit record: a: [Errno 5] that"


def test_an_output_that_may_not_be_read_is_bad_at_once(world, grid, out_of_reach):
    out_of_reach(verified, "open_inside", errno.EACCES)
    world.batch.finish(1, 1, 0, extra=f"file 3 {ABC} a\n", files=[("a", b"abc")])
    world.go(20, 1.0)
    assert world.store.attempts(grid)[0].reason.startswith("outputs do not match the exit record: a: ")


@pytest.mark.parametrize(("away", "reason"), [(50, ""), (70, "outputs do not match the exit record: a: ")])
def test_a_directory_of_outputs_that_is_away_for_less_than_a_minute_costs_no_attempt(world, grid, away, reason):
    world.batch.finish(1, 1, 0, extra=f"file 3 {ABC} a\n", files=[("a", b"abc")])
    runs = world.site.work / str(grid) / "s1"
    moved = runs.rename(runs.with_name("elsewhere"))
    world.until(lambda: world.state(grid) is State.COMPLETING)
    world.go(away, 1.0)
    moved.rename(runs)
    world.until(lambda: world.state(grid) is State.COMPLETED or len(world.batch.accepted) == 2, seconds=0.1)
    assert world.store.attempts(grid)[0].reason[:41] == reason[:41]
    assert (world.state(grid) is State.COMPLETED) is (not reason)


def test_what_nobody_expected_at_one_output_holds_up_no_other_and_no_keeper(world, monkeypatch):
    """Each keeper would end at it, one after the other."""
    real = recorded_outputs.verified

    def odd(directory, output):
        if output.name == "odd":
            raise ValueError("embedded null byte")
        return real(directory, output)

    monkeypatch.setattr(recorded_outputs, "verified", odd)
    grid = world.submit(2)
    world.until(lambda: world.batch.tasks)
    for index, name in (1, "odd"), (2, "a"):
        world.batch.start(1, index)
        world.batch.finish(1, index, 0, extra=f"file 3 {ABC} {name}\n", files=[(name, b"abc")])
    world.until(lambda: world.state(grid, 1) is State.COMPLETED)
    assert world.state(grid, 0) is State.COMPLETING
    monkeypatch.undo()
    world.until(lambda: world.finished(grid), seconds=5.0)
    assert (world.state(grid, 0), len(world.batch.ledger)) == (State.COMPLETED, 2)


def test_grid_jobs_with_very_many_local_jobs_hold_up_no_others():
    jobs = [(1, 0), (1, 1), (1, 2), (4, 7), (9, 0), (9, 3)]
    assert list(verifying.in_turns(jobs)) == [(1, 0), (4, 7), (9, 0), (1, 1), (9, 3), (1, 2)]
    assert list(verifying.in_turns([])) == []


def test_of_outputs_that_take_long_to_read_one_local_job_is_read_at_once():
    """Files with holes cost their payload nothing."""
    sizes = 10**10, 0, 4 * 10**8, 9 * 10**9, 5 * 10**8
    claimed = [Claimed((1, 1, n), n, Path(), record(size)) for n, size in enumerate(sizes)]
    assert [each.n for each in verifying.soon_read(claimed)] == [1, 2, 4, 3]
    assert [each.n for each in verifying.soon_read(claimed[:1])] == [0]


def record(size):
    return SimpleNamespace(files=[Output(size, "0" * 64, "a")])

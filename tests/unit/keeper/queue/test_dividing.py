"""Pieces are stored while the next ones are made: what goes wrong then."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from jim import request
from jim.doors import inbox
from jim.errors import DiskFull
from jim.keeper.queue import dividing
from jim.keeper.workers import NEVER
from jim.model import Step
from jim.site.settings import Sizing

CHUNKS = 3  # of 2, 2 and 1 pieces


@pytest.mark.parametrize("full_at", range(1, CHUNKS + 1))
def test_a_chunk_that_cannot_be_stored_leaves_no_gap(world, monkeypatch, full_at):
    """The chunk behind it, or the end, is there already when the disk is found to be full."""
    monkeypatch.setattr("jim.keeper.queue.dividing.STORED_AT_ONCE", 2)
    add, calls = world.store.add_pieces, []

    def add_pieces(*told):
        calls.append(told)
        if len(calls) == full_at:
            raise DiskFull("database or disk is full")
        add(*told)

    monkeypatch.setattr(world.store, "add_pieces", add_pieces)
    grid = world.submit(5)
    with pytest.raises(DiskFull):
        world.until(lambda: world.store.grid_jobs(Step.SPLIT))
    world.until(lambda: world.store.grid_jobs(Step.SPLIT))
    assert [job.piece.arguments for job in world.store.local_jobs(grid)] == [("0",), ("1",), ("2",), ("3",), ("4",)]
    assert world.store.grid_job(grid).size == 5
    assert len(calls) == full_at + CHUNKS


@pytest.mark.parametrize("full", [False, True])
def test_a_cancel_while_it_is_split_leaves_nothing_half_split(world, monkeypatch, full):
    """What is stored so far does not count yet: neither are these local jobs killed, nor the others made."""
    monkeypatch.setattr("jim.keeper.queue.dividing.STORED_AT_ONCE", 1)
    add, calls = world.store.add_pieces, []

    def add_pieces(*told):
        calls.append(told)
        if len(calls) == 2:
            world.store.set_grid_job(1, wish="cancel")
            if full:
                raise DiskFull("database or disk is full")
        add(*told)

    monkeypatch.setattr(world.store, "add_pieces", add_pieces)
    grid = world.submit(50)
    with pytest.raises(DiskFull) if full else nullcontext():
        world.until(lambda: world.finished(grid))
    world.until(lambda: world.finished(grid))
    job = world.store.grid_job(grid)
    assert (job.outcome, job.reason, job.size) == ("killed", "cancelled", 0)
    assert (world.store.local_jobs(grid), world.store.counts(grid)) == ([], {})
    assert len(calls) < 5


def test_a_job_type_that_makes_nothing_of_a_request_fails_it(world, monkeypatch):
    monkeypatch.setattr("jim.keeper.queue.dividing._pieces", lambda site, job: iter(()))
    grid = world.submit()
    world.until(lambda: world.finished(grid))
    job = world.store.grid_job(grid)
    assert (job.outcome, job.size) == ("failed", 0)
    assert job.reason == "cannot be split: job type parametric makes no local job of this request"


def of_events(world, key, **asked):
    """Hand in 25 local jobs of 100 events."""
    raw = {"job_type": "pythia_monte_carlo", "events": 2500, **asked}
    return inbox.deposit(world.site.state, key, request.check(raw)[1] | {"key": key}, {})


def test_what_was_learned_is_fixed_once_and_a_repeat_of_the_key_is_the_same_request(world):
    learns = Sizing(recommended_cpu_seconds=1, learn=True)
    world.keeper.site = world.keeper.site._replace(sizing=learns)
    first = of_events(world, "k1", events_per_job=100, memory_mb=500)
    world.until(lambda: len(world.batch.tasks) == 25)
    for key, task in world.batch.tasks.items():
        world.batch.start(*key)
        world.batch.finish(*key, extra=f"peak {(100 + task.index) * 1024} sampled\n")
    world.until(lambda: world.finished(first))
    second = of_events(world, "k2")
    world.until(lambda: world.store.grid_jobs(Step.SPLIT))
    job = world.store.grid_job(second)
    assert (job.request["memory_mb"], job.request["cpu_seconds_per_event"]) == (140, 0.001)
    assert (job.events_per_job, job.size) == (1000, 3)
    assert "learned: 25 completed local jobs" in job.why
    assert "learned: 25 completed" in next(
        line.reason for line in world.store.journals.of_itself(second) if line.now == "looked up"
    )
    # What others tell now changes nothing: a split that begins anew takes what is stored, and so does the same key.
    world.store.set_attempts({(first, 1, 1): {"verdict": "failed"}})
    world.store.set_grid_job(second, step=Step.RESOLVED)
    world.until(lambda: world.store.grid_jobs(Step.SPLIT))
    assert (world.store.grid_job(second).events_per_job, world.store.grid_job(second).size) == (1000, 3)
    assert of_events(world, "k2") == second


def test_what_runs_code_of_the_site_has_threads_of_its_own(world, monkeypatch):
    """There are three threads for all tars and splits: code that hangs would stop them for ever."""
    grid, started = world.submit(), []
    start = world.keeper.workers.start
    monkeypatch.setattr(world.keeper.workers, "start", lambda errand: started.append(errand) or start(errand))
    world.until(lambda: world.store.grid_jobs(Step.SPLIT))
    job = world.store.grid_job(grid)

    def apart(**more):
        started.clear()
        dividing.resolve(world.keeper, job._replace(step=Step.ACCEPTED, **more))
        return [errand.source for errand in started]

    assert apart() == [False]
    assert apart(splitter="EventBased") == [False]
    assert apart(splitter="mysite.nights") == [True]
    assert apart(job_type="mysite.tsp") == [True]
    world.keeper.site = world.site._replace(site=world.site.site._replace(steps=("mysite.tax",)))
    assert apart() == [True]


@pytest.mark.parametrize("removed", [False, True])
def test_a_cancel_ends_a_grid_job_whose_split_hangs(world, monkeypatch, removed):
    workers, start, hanging = world.keeper.workers, world.keeper.workers.start, []

    def hang(errand):
        if errand.key != ("split", 1) or world.store.grid_job(1).step is not Step.RESOLVED:
            return start(errand)
        hanging.append(errand)
        workers._busy.add(errand.key)
        return NEVER

    monkeypatch.setattr(workers, "start", hang)
    grid = world.submit(5)
    world.until(lambda: hanging)
    world.wish("cancel", str(grid))
    world.until(lambda: world.finished(grid))
    assert world.store.grid_job(grid).outcome == "killed"
    if removed:
        world.wish("remove", str(grid))
        world.until(lambda: not world.store.grid_jobs())
    (errand,) = hanging
    errand.done(errand.work())  # it wakes up
    errand.failed(OSError("the disk is full"))
    errand.failed(ValueError("odd"))
    assert world.store.local_jobs(grid) == []
    assert [(job.step, job.outcome, job.reason) for job in world.store.grid_jobs()] == (
        [] if removed else [(Step.FINISHED, "killed", "cancelled")]
    )

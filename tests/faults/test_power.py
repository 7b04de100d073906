"""Power cuts: what JIM has told, or stored as done, is there after them, or is made again."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing, suppress

import pytest

from jim.errors import JimError
from jim.model import State, Step
from tests.faults.power import KINDS, Disk
from tests.stand_ins import World
from tests.unit.keeper.runs import files, started, tar_of

DONE = "GRAM_SCRIPT_JOB_STATE:8\n\n"
pytestmark = pytest.mark.torture


@pytest.fixture(params=KINDS)
def disk(request, tmp_path):
    with closing(Disk(tmp_path, request.param)) as disk:
        yield disk


@pytest.fixture
def machine(disk, monkeypatch):
    """A machine with state and work directory on one disk."""
    machine = Machine(disk, monkeypatch)
    yield machine
    machine.world.keeper.store.close()


class Machine:
    def __init__(self, disk, monkeypatch):
        self.disk, self.patch = disk, monkeypatch
        self.world = World(disk.place, monkeypatch)

    def cut(self):
        """Cut the power, and start again: the batch system's daemons have kept what they knew."""
        self.disk.cut()
        batch, clock = self.world.batch, self.world.clock
        with suppress(sqlite3.Error, JimError):
            self.world.keeper.store.close()
        self.disk.come_back()
        self.world = World(self.disk.place, self.patch)
        self.world.batch, self.world.clock = batch, clock
        self.world.restart()
        return self.world


def test_a_last_answer_that_the_store_has_forgotten_is_there(machine):
    world = machine.world
    grids = [world.submit(1, key=f"k{n}") for n in range(3)]
    for grid in grids:
        world.run_all(grid)
    world.until(lambda: world.store.left() == [])
    world = machine.cut()
    assert [world.answer(grid) for grid in grids] == [DONE] * 3


def test_a_last_answer_that_was_written_a_moment_ago_is_written_again(machine, monkeypatch):
    """The power is cut before the store has forgotten that it is to be written."""
    world = machine.world
    grid = world.submit(1)
    monkeypatch.setattr(type(world.store), "are_answered", lambda *_: None)
    world.run_all(grid)
    monkeypatch.undo()
    world = machine.cut()
    world.go(3)
    assert (world.answer(grid), world.store.left()) == (DONE, [])


def test_outputs_of_completed_local_jobs_are_there(machine):
    world = machine.world
    grid = started(world, 4)
    for index in (1, 2, 3):
        world.batch.finish(1, index, **files(dat=b"data" * 1000, empty=b""))
    world.until(lambda: world.store.counts(grid).get(State.COMPLETED) == 3)
    world = machine.cut()
    world.batch.finish(1, 4, **files(dat=b"data" * 1000))
    tar = tar_of(world, grid)
    assert [tar[f"1.{n}/dat"] for n in range(4)] == [b"data" * 1000] * 4
    assert len(world.batch.ledger) == 4  # none was done again


def test_a_request_that_was_acknowledged_is_there_and_has_an_answer(machine):
    world = machine.world
    grid = world.submit(1)
    world = machine.cut()
    world.until(lambda: world.batch.tasks)
    world.go()
    assert world.answer(grid) == "GRAM_SCRIPT_JOB_STATE:1\n\n"
    assert world.submit(1) == grid


@pytest.mark.parametrize("seed", range(8))
def test_a_power_cut_at_any_moment_loses_no_grid_job_and_no_end(machine, seed):
    """Oracles: what doors have printed, what the batch system has run, and what stands in the tars."""
    chance, world, printed = random.Random(seed), machine.world, dict[str, int]()
    for cut in range(3):
        for turn in range(chance.randrange(2, 12)):
            if chance.random() < 0.5:
                key = f"k{cut}-{turn}"
                printed[key] = world.submit(chance.randrange(1, 4), key=key)
            run_some(world, chance)
            world.go(chance.randrange(1, 3), 1.0)
        world = machine.cut()
        assert {key: world.submit(1, key=key) for key in printed} == printed
    for _ in range(600):
        run_some(world, chance, all_of_them=True)
        world.go(1, 5.0)
        if not world.store.grid_jobs(*(step for step in Step if step is not Step.FINISHED)) and len(
            world.store.grid_jobs(Step.FINISHED)
        ) == len(printed):
            break
    world.go(3)
    jobs = world.store.grid_jobs(Step.FINISHED)
    assert {job.key: job.id for job in jobs} == printed
    assert {job.outcome for job in jobs} == {"completed"}
    for job in jobs:
        assert world.answer(job.id) == DONE
        tar = tar_of(world, job.id)
        assert [tar[f"{job.id}.{n}/dat"] for n in range(job.size)] == [b"data"] * job.size
    assert world.store.left() == []


def run_some(world, chance, *, all_of_them=False):
    """Start and end tasks of the batch system, on the same machine."""
    for (id_, index), task in list(world.batch.tasks.items()):
        if not all_of_them and chance.random() < 0.5:
            continue
        if task.state is State.SUBMITTED:
            world.batch.start(id_, index)
        elif task.state is State.RUNNING:
            world.batch.finish(id_, index, **files(dat=b"data"))

"""Power cuts: what JIM has told, or stored as done, is there after them, or is made again."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import tarfile
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from jim.errors import JimError
from jim.model import State, Step
from tests.faults.power import KINDS, Disk
from tests.faults.real import DONE, Place, alive, until
from tests.support.stand_ins import World
from tests.unit.keeper.runs import files, started, tar_of

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
    world.until(lambda: world.store.answers.owed() == [])
    world = machine.cut()
    assert [world.answer(grid) for grid in grids] == [DONE] * 3


def test_a_last_answer_that_was_written_a_moment_ago_is_written_again(machine, monkeypatch):
    """The power is cut before the store has forgotten that it is to be written."""
    world = machine.world
    grid = world.submit(1)
    monkeypatch.setattr(world.store.answers, "are_written", lambda *_: None)
    world.run_all(grid)
    monkeypatch.undo()
    world = machine.cut()
    world.go(3)
    assert (world.answer(grid), world.store.answers.owed()) == (DONE, [])


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
    assert world.store.answers.owed() == []


def run_some(world, chance, *, all_of_them=False):
    """Start and end tasks of the batch system, on the same machine."""
    for (id_, index), task in list(world.batch.tasks.items()):
        if not all_of_them and chance.random() < 0.5:
            continue
        if task.state is State.SUBMITTED:
            world.batch.start(id_, index)
        elif task.state is State.RUNNING:
            world.batch.finish(id_, index, **files(dat=b"data"))


# A whole machine: real keepers, the local batch system and payloads, while people submit


class Whole(Place):
    """A place with its state and work directory on a disk of its own; the ledger of payloads is on another one."""

    def __init__(self, place, disk):
        self.disk = disk
        (disk.place / "state").mkdir()
        place.mkdir()
        (place / "state").symlink_to(disk.place / "state")
        super().__init__(place, batch="touch_seconds = 1")
        self.script = super().payload()

    def payload(self, **_):
        return self.script

    def cut(self):
        """Cut the power of the machine: nothing of it lives on."""
        self.disk.cut()
        self.end()
        self.disk.come_back()

    def end(self):
        """Let nothing of this place live on."""
        until(lambda: not [os.kill(pid, signal.SIGKILL) for pid in self._living()], "nothing lives")
        while self.started:
            self.started.pop().communicate()

    def _living(self):
        named = (str(self.place).encode(), str(self.disk.place).encode())
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and int(entry.name) != os.getpid() and alive(int(entry.name)):
                    told = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                    if any(each in told for each in named):
                        yield int(entry.name)


def test_a_machine_whose_power_is_cut_while_people_submit_keeps_the_promise(disk, tmp_path):
    chance, printed = random.Random(1), dict[str, int]()
    with closing(Whole(tmp_path / "machine", disk)) as machine:
        disk.at_end = machine.end
        for cut in range(3):
            machine.start_keeper()
            end = time.monotonic() + chance.uniform(1.0, 4.0)
            while time.monotonic() < end:
                key = f"k{cut}-{len(printed)}"
                printed[key] = machine.submit(2, key=key)
                time.sleep(chance.uniform(0.1, 1.0))
            machine.cut()
        machine.finish()
        machine.end()
        assert "overlap" not in machine.ledger.read_text()
        for key, grid in printed.items():
            with machine.store() as store:
                job, attempts = store.grid_job(grid), {(each.n, each.attempt): each for each in store.attempts(grid)}
            assert (job.key, job.outcome, machine.answer(grid)) == (key, "completed", DONE), machine.journal(grid)
            done = {n: attempt for (n, attempt), each in attempts.items() if each.verdict == "completed"}
            assert set(done.items()) <= set(machine.events("end", grid))
            with tarfile.open(job.result["tar"]) as tar:
                found = {n: tar.extractfile(f"{grid}.{n}/out.txt").read().decode() for n in (0, 1)}
            assert found == {n: f"data {n} {attempt}\n" for n, attempt in done.items()}

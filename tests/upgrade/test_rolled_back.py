"""An upgrade that is taken back: the database of before is put in its place, amid work, and all ends well."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest

from jim.admin import restoring
from jim.errors import Outdated
from jim.keeper import serial
from jim.model import State, Step
from tests.upgrade.captured import DATABASE, opened, unpack


@pytest.fixture
def upgraded(left, tmp_path, monkeypatch):
    """A state directory that this version has opened and worked with, and the database of before."""
    monkeypatch.setattr(serial, "MACHINE", tmp_path / "none")
    unpack(left, tmp_path, "boot-1")
    before = tmp_path / "before.db"
    shutil.copy(tmp_path / "state/status.db", before)
    for place in [each for each in tmp_path.iterdir() if each != before]:
        shutil.rmtree(place)
    world = opened(left, tmp_path, "boot-1")
    monkeypatch.setattr(restoring, "Clock", lambda: world.clock)
    monkeypatch.setattr(restoring, "adapter_of", lambda site: world.batch)
    return world, before


def run(world, most=1000):
    """Let tasks in the queue run to their end, at most so many."""
    queued = [key for key, task in world.batch.tasks.items() if task.state is State.SUBMITTED]
    for id_, index in queued[:most]:
        if world.batch.start(id_, index):
            world.batch.finish(id_, index)


def test_what_this_version_has_sent_is_found_again_and_nothing_runs_twice(upgraded):
    world, before = upgraded
    for _ in range(10):  # it sends what waited, and some of that runs
        world.go(2, seconds=1.0)
        run(world, most=1)
    assert world.submit(key="since then") == 6
    world.until(lambda: world.store.submissions("confirmed", grid=6))
    sent = len(world.batch.accepted)
    assert sent > 5
    world.store.close()
    for name in DATABASE:
        (world.site.state / name).unlink(missing_ok=True)
    shutil.copy(before, world.site.state / "status.db")
    with pytest.raises(Outdated, match="is older than the work done with it"):
        world.restart()
    said = list(restoring.restored(world.site))
    assert any("were submitted after the backup was made: JIM looks for them again" in each for each in said)
    world.restart()
    world.wish("retry", "2.4")  # it is held, as it was before
    world.batch.finish("2", 1)  # it ran all the time

    def over():
        run(world)
        return all(each.step is Step.FINISHED for each in world.store.grid_jobs())

    world.until(over, seconds=1.0)
    assert max(Counter(world.batch.accepted).values()) == max(Counter(world.batch.ledger).values()) == 1
    outcomes = {each.id: each.outcome for each in world.store.grid_jobs()}
    assert outcomes == {1: "completed", 2: "failed", 3: "completed", 4: "completed", 6: "failed"}
    assert any(
        each.startswith(f"{world.site.work / '5'} belongs to a grid job that JIM no longer knows") for each in said
    )
    assert (world.site.work / "5/result/5.tar").exists()  # it has finished since then
    assert "local jobs were sent before the state directory was restored" in world.store.grid_job(6).reason
    for grid in outcomes:
        for local in world.store.local_jobs(grid):
            done = [each for each in world.store.attempts(grid, n=local.n) if each.verdict == "completed"]
            assert len(done) == (local.state is State.COMPLETED), (grid, local)
    assert world.store.counts(2)[State.FAILED] == 1  # that had failed before

"""jim redo: completed local jobs of a grid job run once more, and the tar is made anew."""

from __future__ import annotations

import tarfile

import pytest

from jim.doors import inbox
from jim.jobs import Sender
from jim.model import State, Step
from jim.request import check
from jim.statusdb.seen.record import from_gatekeeper
from tests.support.stand_ins import World
from tests.unit.tasks.ground import as_files


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch)


def submit(world, **more):
    asked = {
        "job_type": "parametric",
        "executable": "/bin/echo",
        "argument_sets": [["1"], ["2"], ["3"]],
        "outputs": ["out"],
        **more,
    }
    return inbox.deposit(world.site.state, "k1", check(asked)[1] | {"key": "k1"})


def run(world, grid, text):
    """Let all that waits run to its end, and bring a text."""

    def done():
        for key, task in list(world.batch.tasks.items()):
            if task.state is State.SUBMITTED and world.batch.start(*key):
                world.batch.finish(*key, **as_files({"out": text}))
        return world.store.grid_job(grid).step is Step.FINISHED

    world.until(done)


def in_tar(world, grid):
    with tarfile.open(world.store.grid_job(grid).result["tar"]) as tar:
        return [tar.extractfile(f"{grid}.{n}/out").read() for n in range(3)]


def said(world, grid):
    return [f"{each.now}: {each.reason}" for each in world.store.journals.of(grid)]


def ask(world, target, **more):
    inbox.wish(world.site.state, "redo", target, by="somebody, by the command line", **more)
    world.go(2)


def test_a_local_job_that_completed_runs_again_and_the_tar_is_made_anew(world):
    grid = submit(world)
    world.until(lambda: len(world.batch.tasks) == 3)
    run(world, grid, b"old")
    ask(world, f"{grid}.1")
    assert world.store.grid_job(grid).step is Step.ACTIVE
    assert "redo: 1 local job is done again" in said(world, grid)
    run(world, grid, b"new")
    assert in_tar(world, grid) == [b"old", b"new", b"old"]
    assert [each.verdict for each in world.store.attempts(grid, n=1)] == ["again", "completed"]
    assert world.store.grid_job(grid).outcome == "completed"


def test_a_whole_grid_job_is_done_again(world):
    grid = submit(world)
    world.until(lambda: len(world.batch.tasks) == 3)
    run(world, grid, b"old")
    ask(world, str(grid))
    run(world, grid, b"new")
    assert in_tar(world, grid) == [b"new"] * 3


def test_while_others_run_what_completed_is_done_again(world):
    grid = submit(world)
    world.until(lambda: len(world.batch.tasks) == 3)
    assert world.batch.start("1", 1)
    world.batch.finish("1", 1, **as_files({"out": b"old"}))
    world.until(lambda: world.store.state(grid, 0) is State.COMPLETED)
    ask(world, f"{grid}.0")
    run(world, grid, b"new")
    assert in_tar(world, grid) == [b"new"] * 3


def test_what_has_not_completed_is_not_done_again(world):
    grid = submit(world)
    world.until(lambda: len(world.batch.tasks) == 3)
    ask(world, f"{grid}.0")
    assert "redo changes nothing: none of these local jobs has completed" in said(world, grid)


def test_what_its_gatekeeper_has_had_is_done_again_only_if_that_is_said(world):
    grid = submit(world)
    world.until(lambda: len(world.batch.tasks) == 3)
    run(world, grid, b"old")

    with world.keeper.store.transaction():
        world.keeper.store.senders.put(grid, Sender("/CN=somebody", (), "https://gatekeeper:2119/1/2"))
    assert from_gatekeeper(world.store, world.store.grid_job(grid))
    ask(world, f"{grid}.1")
    why = "its gatekeeper has the last answer, and takes no other outputs; with --again, only the tar here is made anew"
    assert f"redo changes nothing: {why}" in said(world, grid)
    ask(world, f"{grid}.1", again=True)
    run(world, grid, b"new")
    assert in_tar(world, grid) == [b"old", b"new", b"old"]

"""State directories of tasks that were moved: what JIM keeps of a task is found in the new place."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from jim.admin import restoring
from jim.model import Step
from jim.statusdb.task_rows import TaskState
from jim.tasks.effects import TaskVerb
from tests.unit.tasks.chain import Chain
from tests.unit.tasks.ground import Ground, whole


@pytest.fixture
def ground(tmp_path, monkeypatch):
    return Ground(tmp_path, monkeypatch)


@pytest.fixture
def chain(tmp_path, monkeypatch):
    return Chain(tmp_path, monkeypatch)


def move(ground, verb=restoring.moved):
    """Move the state directory with all that is in it."""
    ground.keeper.store.close()
    before, away = ground.site.state, ground.site.state.with_name("state-elsewhere")
    before.rename(away)
    ground.site = ground.site._replace(state=away)
    assert list(verb(ground.site))
    ground.restart()
    return before


def with_copies(ground, events=8):
    """Create a task that sends a program along, and checks its tests."""
    for name, text in (("program", "#!/bin/sh\n"), ("check", f"#!/bin/sh\ntouch {ground.place}/checked\n")):
        ground.place.joinpath(name).write_text(text)
        ground.place.joinpath(name).chmod(0o755)
    ground.create(f"""
        [[task]]
        name = "t"
        source = [ {{ events = {events}, events_per_piece = 2 }} ]
        test = {{ pieces = 1, check = ["./check"] }}
        release = {{ at_once = 1, every_seconds = 0 }}
        [task.request]
        job_type = "executable"
        executable = "/bin/sh"
        inputs = ["program"]
        arguments = ["program", "$FirstEvent", "$LastEvent"]
        """)
    for each in ("program", "check"):
        ground.place.joinpath(each).unlink()


@pytest.mark.parametrize("verb", [restoring.moved, restoring.restored])
def test_a_task_that_sends_files_along_goes_on(ground, verb):
    with_copies(ground)
    ground.ask("start", untested=True)
    ground.until(lambda: ground.counts("pieces").get("completed") == 1 or ground.work())
    ground.until(lambda: not ground.store.unfinished() or ground.work())
    ground.ask("pause")
    ground.go(3)
    move(ground, verb)
    ground.ask("resume")
    ground.until_state(TaskState.FINISHED)
    assert ground.task().outcome == "completed"
    assert whole([(int(first), int(last)) for _, first, last in ground.diary], 1, 8)


def test_a_test_finds_its_check(ground):
    with_copies(ground)
    move(ground)
    ground.ask(TaskVerb.TEST)
    ground.until_state(TaskState.READY)
    assert (ground.place / "checked").exists()


def test_a_wave_that_was_just_taken_in_finds_what_it_sends_along(ground, monkeypatch):
    with_copies(ground, events=2)

    def away(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr("jim.keeper.queue.dividing.prepare_grid_job", away)
        ground.ask("start", untested=True)
        ground.until(lambda: ground.store.grid_jobs())
    assert ground.store.grid_job(1).step is Step.ACCEPTED
    move(ground)
    ground.until_state(TaskState.FINISHED)
    assert ground.task().outcome == "completed"


def test_outputs_that_stay_in_the_work_directory_are_read_where_they_are(chain):
    chain.create(chain.text(events=8, files=2, store=False))
    chain.ask("start", "gen", untested=True)
    chain.until_state(TaskState.FINISHED, "gen")
    before = move(chain)
    chain.ask("start", "reco", untested=True)
    chain.ask("start", "merge", untested=True)
    chain.until(lambda: chain.work() or chain.task("merge").state is TaskState.FINISHED, 2.0, 600)
    given = [name for task, name, *_ in chain.diary if task == "merge" for name in name.split(",")]
    assert sorted(int(n) for name in given for n in Path(name).read_text().split()) == list(range(1, 9))
    outputs = [
        each for task in chain.store.tasks.all() for each in chain.store.chains.outputs_after(task.id, "gen", 0, 100)
    ]
    assert not any(each.place.startswith(f"{before}/") for each in outputs)
    assert len(outputs) == 4

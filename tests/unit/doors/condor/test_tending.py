"""What the keeper does for jobs of an HTCondor-CE beside answering."""

import os
import time

import pytest

from jim import run_grid_job
from jim.doors import inbox
from jim.doors.condor.tending import LOOKED_EVERY, forgotten
from jim.site.settings import General, Limits
from tests.support.stand_ins import World

HOUR = 3600.0


@pytest.fixture
def limits():
    return Limits()


@pytest.fixture
def world(tmp_path, monkeypatch, limits):
    world = World(tmp_path, None, limits=limits, site=General(inputs_below=(str(tmp_path / "iwd"),)))
    (world.site.state / "site.toml").write_text(f'[site]\ninputs_below = ["{tmp_path}/iwd"]\n')
    monkeypatch.setenv("JIM_STATE", str(world.site.state))
    monkeypatch.setattr(run_grid_job, "wake", lambda _: None)
    return world


@pytest.fixture
def iwd(tmp_path):
    (tmp_path / "iwd").mkdir()
    return tmp_path / "iwd"


@pytest.fixture
def submit(world, tmp_path, iwd):
    def submit(*words, number=1):
        options = ("-c", "/bin/true", "-w", str(iwd), "-o", "out", "-D", f"home_bl_{number}", *words)
        (tmp_path / "call").write_bytes(b"".join(f"{word}\0".encode() for word in (len(options), "", *options)))
        assert run_grid_job.main(["--door", "condor", "submit", str(tmp_path / "call")]) == 0
        return world

    return submit


SPLIT = ("-V", '"JIM_JOB_TYPE=parametric" "JIM_ARGUMENT_SETS=[[],[],[]]"')


def test_a_split_job_has_a_line_of_progress_beside_it_to_its_end(submit, iwd):
    world = submit(*SPLIT)
    world.until(lambda: len(world.batch.tasks) == 3)
    assert (iwd / "out.status").read_text() == "0 of 3 local jobs completed\n"
    for index in (1, 2, 3):
        world.batch.start(1, index)
    world.batch.finish(1, 1)
    world.until(lambda: (iwd / "out.status").read_text() == "1 of 3 local jobs completed\n")
    for index in (2, 3):
        world.batch.finish(1, index, index - 2)
    world.until(lambda: world.finished(1))
    world.go(3)
    assert (iwd / "out.status").read_text() == "failed: 1 of 3 local jobs failed: exit 1\n"
    assert world.answer(1).startswith('0[BatchJobId="1";JobStatus=4;ExitCode=1;')


def test_one_program_has_none(submit, iwd):
    world = submit()
    world.run_all(1)
    world.go(3)
    assert sorted(each.name for each in iwd.iterdir()) == ["out"]


def test_a_line_that_cannot_be_written_holds_up_nothing(submit, iwd):
    world = submit(*SPLIT)
    world.until(lambda: len(world.batch.tasks) == 3)
    iwd.rename(iwd.with_name("away"))
    for index in (1, 2, 3):
        world.batch.start(1, index)
        world.batch.finish(1, index)
    world.until(lambda: world.finished(1))
    iwd.with_name("away").rename(iwd)
    world.until(lambda: "JobStatus=4" in world.answer(1))


# Jobs that nobody asks about


def asked(world, number, ago):
    file = world.site.state / "asked" / str(number)
    file.touch()
    os.utime(file, (time.time() - ago,) * 2)


def test_jobs_that_nobody_has_asked_about_are_found(submit, monkeypatch):
    for number in (1, 2, 3):
        world = submit(number=number)
    world.go(3)
    later = time.time() + 7 * HOUR
    monkeypatch.setattr(time, "time", lambda: later)
    asked(world, 2, ago=HOUR)
    world.submit(key="of another door")
    world.go(3)
    found = dict(forgotten(world.store, world.site.state, "condor", 6 * HOUR))
    assert sorted(found) == [1, 3]
    assert 6.9 * HOUR < found[1] < 7.1 * HOUR
    run_grid_job.wish("cancel", "3")
    world.go(3)
    assert list(dict(forgotten(world.store, world.site.state, "condor", 6 * HOUR))) == [1]


def test_what_was_asked_about_counts_also_if_the_clock_was_set_back_after_the_submission(submit):
    world = submit()
    world.go(3)
    asked(world, 1, ago=7 * HOUR)
    assert dict(forgotten(world.store, world.site.state, "condor", 6 * HOUR)).keys() == {1}


def test_they_are_left_alone_if_the_site_has_named_no_time(submit, monkeypatch):
    world = submit()
    world.go(3)
    later = time.time() + 1000 * HOUR
    monkeypatch.setattr(time, "time", lambda: later)
    world.go(3, seconds=LOOKED_EVERY)
    assert world.store.grid_job(1).wish == ""


@pytest.mark.parametrize("limits", [Limits(unasked_seconds=6 * HOUR)])
def test_after_the_site_s_own_time_they_are_cancelled_and_a_late_submission_begins_anew(submit, capfdbinary):
    world = submit()
    world.go(3)
    world.go(1, seconds=5 * HOUR)
    asked(world, 1, ago=0)
    world.go(1, seconds=LOOKED_EVERY)
    world.go(1, seconds=5 * HOUR)
    assert world.store.grid_job(1).wish == ""
    world.until(lambda: world.store.grid_job(1).wish == "cancel", seconds=1.5 * HOUR)
    (line,) = [each.reason for each in world.store.journals.of(1) if each.now == "cancel requested"]
    assert line == (
        f"{inbox.account()}, by the keeper: nobody has asked about it for 6.7 h, as limits.unasked_seconds says"
    )
    submit()
    assert capfdbinary.readouterr().out.splitlines()[-1].endswith(b"/2")


@pytest.mark.parametrize("limits", [Limits(unasked_seconds=6 * HOUR)])
@pytest.mark.parametrize("what", ["a clock that jumps", "a machine that was off"])
def test_no_clock_and_no_machine_that_was_off_makes_jim_forget_that_they_were_asked_about(submit, monkeypatch, what):
    """The gatekeeper, which was off as well, asks again when it is up."""
    world = submit()
    world.go(3)
    asked(world, 1, ago=0)
    later = time.time() + 1000 * HOUR
    monkeypatch.setattr(time, "time", lambda: later)
    if what == "a machine that was off":
        world.restart()
    world.go(3, seconds=LOOKED_EVERY)
    assert world.store.grid_job(1).wish == ""


def test_traces_of_removed_jobs_go(submit):
    world = submit()
    world.run_all(1)
    asked(world, 1, ago=0)
    (world.site.state / "asked/77").touch()
    world.go(3, seconds=LOOKED_EVERY)
    assert [each.name for each in (world.site.state / "asked").iterdir()] == ["1"]

"""A file server that does not answer: what cannot be looked at is not taken for missing."""

from __future__ import annotations

import errno
import shutil

import pytest

from jim.keeper import serial
from jim.keeper.queue import dividing
from jim.keeper.queue.sending import Sending
from jim.model import State
from jim.workdir import claims, submission
from jim.workdir.removed import INSTANCE
from tests.support.stand_ins import Answers, Instead

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.fixture
def grid(world):
    """A local job that runs."""
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.go(2)
    return grid


@pytest.fixture
def unmounted(world, monkeypatch):
    """Let the work directory not be mounted from before one function is called until another one is, once."""

    def arrange(gone, back, fits=lambda *_: True):
        work, aside, times = world.site.work, world.site.work.with_name("aside"), []

        def go(*arguments):
            if not times and fits(*arguments):
                times.append("gone")
                work.rename(aside)
                work.mkdir()

        def come(*_):
            if times == ["gone"]:
                times.append("back")
                shutil.rmtree(work)
                aside.rename(work)

        for (module, name), first in ((gone, go), (back, come)):
            real = getattr(module, name)
            monkeypatch.setattr(module, name, lambda *all, real=real, first=first: (first(*all), real(*all))[1])
        return times

    return arrange


def runs_well(world, times):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks, seconds=20.0)
    assert times == ["gone", "back"]
    world.run_all(grid)
    assert (world.state(grid), len(world.batch.ledger)) == (State.COMPLETED, 1)


def test_a_directory_made_where_nothing_is_mounted_is_made_again(world, unmounted):
    runs_well(world, unmounted((dividing, "own_directory"), (dividing, "_see_again")))


def test_a_serial_written_where_nothing_is_mounted_makes_no_work_directory(world, unmounted):
    keeper = world.keeper
    times = unmounted(
        (serial, "replace_durably"), (keeper.workers, "pace"), lambda path, _: path.parent == world.site.work
    )
    world.store.set_fact(serial.FILE, str(int(world.store.fact(serial.FILE)) + 1))
    keeper.hold.expect(world.store)
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match="instance"):
            keeper.hold.reach()
    keeper.workers.pace("it is mounted again")
    keeper.hold.reach()
    assert times == ["gone", "back"]


def test_an_exit_record_may_be_there_though_it_cannot_be_read(world, grid, out_of_reach):
    come_back = out_of_reach(claims, "read_regular", errno.ESTALE, lambda path, _: path.name.startswith("exit."))
    world.batch.finish(1, 1, 0, spool=False)
    world.go(20, 2.0)
    assert world.state(grid) is State.RUNNING
    come_back()
    world.until(lambda: world.finished(grid), seconds=5.0)
    assert (world.state(grid), len(world.batch.ledger)) == (State.COMPLETED, 1)


def test_a_spoilt_exit_record_is_none(world, grid):
    world.batch.finish(1, 1, None, signal=9, spool=False)
    record = world.site.work / "1/s1/exit.1"
    record.write_text(record.read_text().replace("2026-01-01T00:00:01Z", "2026-13-01T00:00:01Z"))
    world.until(lambda: world.state(grid) is State.WAITING, seconds=5.0)
    assert world.store.attempts(grid)[0].reason == "exit 1"  # of its wrapper, as accounting says


def test_a_submission_whose_directory_was_removed_is_not_looked_for_for_ever(world):
    world.batch.lies = [Instead("submit", Answers.LOST_BEFORE)]
    grid = world.submit(1)
    world.until(lambda: world.store.submission(grid, 1) and world.store.submission(grid, 1).state == "unknown")
    (world.site.work / INSTANCE).touch()  # it is mounted
    shutil.rmtree(world.site.work / "1")
    world.until(lambda: world.finished(grid), seconds=10.0)
    assert (world.state(grid), world.batch.ledger) == (State.NEW, [])
    assert "was removed" in world.store.local_job(grid, 0).reason


@pytest.mark.parametrize("place", ["1", "1/s1"])
def test_one_directory_that_is_none_any_more_holds_up_no_other(world, place, caplog):
    for key in ("k1", "k2"):
        world.submit(1, key=key)
    world.until(lambda: len(world.batch.tasks) == 2)
    for each in (1, 2):
        world.batch.start(each)
    world.go(2)
    for each in (1, 2):
        world.batch.finish(each, spool=False)
    there = world.site.work / place
    aside = there.rename(there.with_name("aside"))
    there.touch()
    world.until(lambda: world.finished(2), seconds=5.0)
    assert (world.state(1), world.state(2)) == (State.RUNNING, State.COMPLETED)
    assert "1: submission 1, index 1 cannot be looked at just now: [Errno 20] Not a directory" in caplog.text
    there.unlink()
    aside.rename(there)
    world.until(lambda: world.finished(1), seconds=5.0)
    assert (world.state(1), len(world.batch.ledger)) == (State.COMPLETED, 2)


def test_one_directory_that_may_not_be_read_holds_up_no_other(world, out_of_reach):
    for key in ("k1", "k2"):
        world.submit(1, key=key)
    world.until(lambda: len(world.batch.tasks) == 2)
    for each in (1, 2):
        world.batch.start(each)
    world.go(2)
    own = world.site.work / "1/s1"
    come_back = out_of_reach(claims, "read_regular", errno.EACCES, lambda path, _: path.parent.resolve() == own)
    world.batch.finish(2, spool=False)
    world.batch.kill(1)
    world.until(lambda: world.finished(2), seconds=5.0)
    world.go(100, 5.0)
    assert (world.state(1), world.state(2)) == (State.RUNNING, State.COMPLETED), "who cannot look concludes nothing"
    come_back()
    world.until(lambda: world.state(1) is State.WAITING, seconds=5.0)


@pytest.mark.parametrize("target", ["1", "1.0"])
@pytest.mark.parametrize("place", ["1", "1/s1"])
def test_what_has_no_directory_any_more_is_cancelled_all_the_same(world, grid, place, target):
    shutil.rmtree(world.site.work / place)
    world.wish("cancel", target)
    world.until(lambda: world.finished(grid), seconds=10.0)
    assert (world.state(grid), world.batch.tasks["1", 1].state) == (State.KILLED, State.KILLED)
    assert len(world.batch.ledger) == 1


def test_a_cancel_reaches_what_can_be_fenced_though_something_else_cannot(world, out_of_reach):
    world.move(Sending).most = 1
    world.submit(2)
    world.until(lambda: len(world.batch.tasks) == 2)
    own = world.site.work / "1/s1"
    come_back = out_of_reach(claims, "replace_durably", errno.EACCES, lambda path, _: path.parent.resolve() == own)
    world.wish("cancel", "1")
    world.until(lambda: world.state(1, 1) is State.KILLED, seconds=5.0)
    assert world.state(1, 0) is State.SUBMITTED
    come_back()
    world.until(lambda: world.finished(1), seconds=5.0)
    assert world.batch.ledger == []


def test_no_link_of_a_payload_lets_the_keeper_empty_a_file_elsewhere(tmp_path):
    """Worker nodes do not see the state directory, but a link in the work directory leads the keeper there."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state/status.db").write_bytes(b"all that is known")
    (tmp_path / "work/1").mkdir(parents=True)
    (tmp_path / "work/1/made.s2").symlink_to(tmp_path / "state/status.db")
    submission.prepare_submission(tmp_path / "work/1/s2", {"index": "I", "id": "B", "restart": ""}, [], [])
    assert (tmp_path / "state/status.db").read_bytes() == b"all that is known"
    assert not submission.was_never_made(tmp_path / "work/1/s2")


def test_a_link_in_the_place_of_its_directory_gives_a_grid_job_another_one(world, tmp_path):
    """Payloads can guess the next number, and a link may lead where worker nodes see nothing."""
    (tmp_path / "home").mkdir()
    grid = world.submit(1) + 1
    (world.site.work / str(grid)).symlink_to(tmp_path / "home")
    assert world.submit(1, "k2") == grid
    world.until(lambda: len(world.batch.tasks) == 2)
    assert list((tmp_path / "home").iterdir()) == []
    assert world.keeper.store.grid_job(grid).place.startswith(f"{grid}-")


@pytest.mark.parametrize("owner", ["[" * 60_000, "x" * 20_000_000, "link", "directory"])
def test_a_directory_whose_owner_makes_no_sense_fails_no_grid_job(world, owner):
    """Payloads may make directories for numbers that are still to come."""
    place = world.site.work / "1"
    place.mkdir()
    (world.site.state / "next-id").write_text("1\n")
    if owner == "link":
        (place / "owner").symlink_to("/etc/passwd")
    elif owner == "directory":
        (place / "owner").mkdir()
    else:
        (place / "owner").write_text(owner)
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    assert world.store.grid_job(grid).place.startswith("1-")


@pytest.mark.parametrize("content", ["x", "1" * 40, "link"])
def test_a_count_of_tries_that_makes_no_sense_does_not_let_what_was_sent_count_as_never_sent(
    world, monkeypatch, content
):
    """The keeper was killed after the batch command; a payload, or a disk, has spoilt what it wrote before."""
    answered = Sending._answered
    monkeypatch.setattr(Sending, "_answered", lambda *_: None)
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    monkeypatch.setattr(Sending, "_answered", answered)
    world.restart()
    sent = world.site.work / "1/s1/sent"
    if content == "link":
        sent.unlink()
        sent.symlink_to("jobs")
    else:
        sent.write_text(content)
    world.until(lambda: world.state(grid, 0) is State.SUBMITTED, seconds=5.0)
    assert len(world.batch.tasks) == 1

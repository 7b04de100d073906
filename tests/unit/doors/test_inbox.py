"""A request key: the same key is the same grid job, whoever hands it in, and however many at once."""

from __future__ import annotations

import json
import os

import pytest

from jim.doors import inbox
from jim.errors import DiskFull, JimError, UnknownJob
from jim.keeper.results import aging
from jim.model import Step
from jim.workdir.submission import remove_grid_directory


def key_file(world, key="k1"):
    return world.site.state / "keys" / inbox.request_name(key)


def interrupted(monkeypatch, meanwhile):
    """Let something happen between a door's look and its link."""
    link, left = os.link, [meanwhile]

    def late(source, target):
        while left:
            left.pop()()
        link(source, target)

    monkeypatch.setattr("jim.doors.inbox.os.link", late)


def settled(world, number):
    """Tell whether a key has one grid job, and nothing is left of any other."""
    state = world.site.state
    assert json.loads(key_file(world).read_bytes())["id"] == number
    assert [path.name for path in (state / "answers").iterdir()] == [str(number)]
    assert [path.name for path in (state / "inbox").iterdir() if not path.name.startswith(".")] == []
    assert [job.id for job in world.store.grid_jobs()] == [number]
    return world.submit(1) == number


def test_a_request_that_is_taken_between_a_door_s_look_and_its_link_leaves_no_ghost(world, monkeypatch):
    printed = []

    def another_door():
        printed.append(world.submit(1))
        world.go(1)

    interrupted(monkeypatch, another_door)
    printed.append(world.submit(1))
    assert printed == [2, 2]
    assert json.loads(key_file(world).read_bytes())["id"] == 2
    world.go(2)
    assert settled(world, 2)


def test_a_third_door_prints_the_first_one_s_id_though_it_finds_the_second_one_s_file(world, monkeypatch):
    """The keeper takes the first one's just when the third one has not seen it under its key."""
    read, printed, left = inbox.read_regular, [], []

    def late(path, limit):
        while path.parent.name == "inbox" and left:
            left.pop()()
        return read(path, limit)

    def two_others():
        world.go(1)
        os.link(second, first)

    printed.append(world.submit(1))
    first = world.site.state / "inbox" / inbox.request_name("k1")
    second = first.with_name(".second")
    second.write_bytes(first.read_bytes().replace(b'{"id": 1,', b'{"id": 2,'))
    (world.site.state / "answers/2").write_bytes(b"")
    left.append(two_others)
    monkeypatch.setattr(inbox, "read_regular", late)
    printed.append(world.submit(1))
    assert printed == [1, 1]
    world.go(1)
    assert settled(world, 1)


@pytest.mark.parametrize("place", ["stored", "linked"])
def test_a_keeper_that_is_killed_while_it_takes_a_request_takes_it_once(world, monkeypatch, place):
    """Killed after the row was stored, or once the key was kept: the request lies in the inbox still."""

    def killed(path, *_):
        if place == "linked":
            os.link(path, key_file(world))
        raise KeyboardInterrupt

    assert world.submit(1) == 1
    with monkeypatch.context() as patch:
        patch.setattr(inbox, "keep", killed)
        with pytest.raises(KeyboardInterrupt):
            world.go(1)
    world.restart()
    assert world.submit(1) == 1
    world.go(1)
    assert settled(world, 1)


def test_a_key_that_is_kept_is_of_the_row_that_is_stored(world, monkeypatch):
    """A door that could not make its file durable takes it back, just when the keeper has stored it."""
    keep = inbox.keep

    def gone(path, content):
        path.unlink()
        keep(path, content)

    world.submit(1)
    monkeypatch.setattr(inbox, "keep", gone)
    world.go(1)
    assert settled(world, 1)


def test_a_key_of_which_a_power_cut_left_nothing_gets_its_id_again(world):
    world.submit(1)
    key_file(world).touch()
    world.go(1)
    assert settled(world, 1)


def test_a_number_that_another_request_has_is_put_aside(world):
    world.submit(1)
    world.go(1)
    file = world.site.state / "inbox" / inbox.request_name("other")
    file.write_bytes(key_file(world).read_bytes().replace(b'"key": "k1"', b'"key": "other"'))
    world.go(1)
    assert [job.key for job in world.store.grid_jobs()] == ["k1"]
    assert not key_file(world, "other").exists()
    assert file.with_name(f".unreadable-{file.name}").exists()


# Faults of the disk


@pytest.mark.parametrize("door", ["alone", "behind another"])
def test_a_request_that_cannot_be_read_back_has_its_own_id(world, monkeypatch, door):
    known, left = inbox.known, [None] if door == "alone" else [None, None]

    def fails(*told):
        if not left:
            raise OSError(5, "Input/output error", "keys")
        left.pop()
        return known(*told)

    if door == "alone":
        monkeypatch.setattr(inbox, "known", fails)
        assert world.submit(1) == 1
        return
    interrupted(monkeypatch, lambda: (world.submit(1), setattr(inbox, "known", fails), left.clear()))
    monkeypatch.setattr(inbox, "known", known)  # put back in the end
    with pytest.raises(OSError, match="Input/output"):  # which one it is, nobody can tell now
        world.submit(1)


@pytest.mark.parametrize("removes", [True, False])
def test_what_is_not_durable_is_taken_back_or_told_of(world, monkeypatch, removes):
    def fails(*_, **__):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(inbox, "sync_directory", fails)
    if not removes:
        monkeypatch.setattr("pathlib.Path.unlink", fails)
    told = "Input/output error$" if removes else "may be taken from there all the same"
    with pytest.raises((OSError, JimError), match=told):
        world.submit(1)
    assert len(inbox.names(world.site.state)) == (0 if removes else 1)


def test_a_wish_that_is_not_durable_is_taken_back(world, monkeypatch):
    def fails(*_, **__):
        raise OSError(5, "Input/output error")

    world.submit(1)
    monkeypatch.setattr(inbox, "sync_directory", fails)
    with pytest.raises(OSError, match="Input/output"):
        inbox.wish(world.site.state, "cancel", "1")
    assert list((world.site.state / "inbox").glob("wish-*")) == []


# A key whose grid job is removed


def finished(world):
    """Hand in a grid job, let it fail, and let its time be over."""
    assert world.submit(1) == 1
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.finish(1, code=9)
    world.until(lambda: world.finished(1))
    world.clock.utc = lambda: "2100-01-01T00:00:00.000Z"


def killed(*_):
    raise KeyboardInterrupt


DEATHS = [
    "jim.keeper.results.aging.inbox.free",
    "jim.statusdb.grid.removals.Removals.remove",
    "jim.keeper.results.aging.Aging._remove_files",
    "jim.keeper.results.aging.remove_grid_directory",
]


@pytest.mark.parametrize("retried", [False, True])
@pytest.mark.parametrize("before", DEATHS)
def test_a_request_whose_key_s_old_grid_job_is_just_being_removed_is_not_lost(world, monkeypatch, before, retried):
    """A kill before any step of the removal; what was removed halfway is not opened again without its directory."""
    finished(world)
    with monkeypatch.context() as patch:
        patch.setattr(before, killed)
        world.keeper.workers.forget("age")
        with pytest.raises(KeyboardInterrupt):
            world.go(2)
    if retried and (world.site.state / "answers/1").exists():
        world.wish("retry", "1")
    known = (world.site.state / "keys" / inbox.request_name("k1")).exists()
    number = world.submit(1)
    assert number == (1 if known else 2)
    utc = world.clock.utc
    world.restart()
    world.clock.utc = utc
    world.go(4)
    assert [job.id for job in world.store.grid_jobs()] == [number] * (not known)
    for job in world.store.grid_jobs():
        assert (world.site.work / str(job.id)).is_dir()
    assert not (world.site.work / "1").exists()
    assert not (world.site.state / "answers/1").exists()
    assert world.store.removals.to_finish() == []


def test_what_was_aged_out_halfway_and_retried_is_not_active_without_a_directory(world):
    """As by a version before, which was killed between the removal of the directory and that of the rows."""
    finished(world)
    remove_grid_directory(world.site.work / "1")
    utc = world.clock.utc
    world.restart()
    world.clock.utc = utc
    world.wish("retry", "1")
    world.go(4)
    assert world.store.grid_jobs() == []
    assert inbox.names(world.site.state) == []


def test_what_is_over_and_still_whole_can_be_retried(world):
    finished(world)
    world.wish("retry", "1")
    world.go(2)
    assert [job.step for job in world.store.grid_jobs()] == [Step.ACTIVE]


def test_a_removal_that_cannot_be_stored_is_carried_on_where_its_key_is_asked_for(world, monkeypatch):
    finished(world)

    def full(*_):
        raise DiskFull("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(world.store.removals, "remove", full)
        world.keeper.workers.forget("age")
        with pytest.raises(DiskFull):
            world.go(2)
    assert world.submit(1) == 2
    world.wish("cancel", "2")  # which the store does not know yet
    world.go(4)
    assert [(job.id, job.outcome) for job in world.store.grid_jobs()] == [(2, "killed")]


def test_a_request_waits_while_its_key_is_that_of_a_grid_job_that_goes_on(world):
    """Its file was lost: it has the key all the same, and no second one is made of it."""
    world.submit(1)
    world.go(1)
    key_file(world).unlink()
    assert world.submit(1) == 2
    world.go(3)
    assert [job.id for job in world.store.grid_jobs()] == [1]
    assert (world.site.state / "inbox" / inbox.request_name("k1")).exists()


def test_an_id_that_nobody_has_is_unknown(world):
    with pytest.raises(UnknownJob):
        world.wish("cancel", "1")


def test_a_directory_that_is_out_of_reach_is_not_taken_for_removed(world):
    """The work directory goes away in the middle of a round, just when a grid job's time is over."""
    finished(world)
    world.keeper.workers.wait("age", 1e9)
    world.go(1)
    away = world.site.work.with_name("away")
    world.store.removals.remove(world.store.grid_job(1))
    world.site.work.rename(away)
    world.move(aging.Aging)._remove_files(world.keeper, 1, "1")
    while world.keeper.workers.deliver(0):
        pass
    away.rename(world.site.work)
    assert world.store.removals.to_finish() == [(1, "1")]
    world.keeper.workers.forget("age")
    world.go(2)
    assert not (world.site.work / "1").exists()
    assert world.store.removals.to_finish() == []


@pytest.mark.parametrize("text", ["\u0664", "1.\u0664", "-1", "1.", ".1", "1.2.3", "", "one"])
def test_an_id_is_plain_digits(text):
    with pytest.raises(UnknownJob, match="is not an id"):
        inbox.target_of(text)

"""What is old or no longer wanted is removed; what cannot be removed just now is told once, and removed later."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager

import pytest

from jim.doors import inbox
from jim.errors import BadSite, UnknownJob
from jim.keeper.results import aging
from jim.model import State

STAYS = ".nfs0001"  # what a file server keeps of a file that somebody still has open


@contextmanager
def in_use(monkeypatch):
    unlink = os.unlink

    def refuse(path, **more):
        if os.fspath(path).endswith(STAYS):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), path)
        unlink(path, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        yield


def an_hour_later(world):
    world.clock.now += aging.LOOKED_EVERY
    world.go(2)


@pytest.fixture
def over(world):
    """Let a grid job end, with something in its directory that cannot be removed, and let its time be over."""
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.finish(1)
    world.until(lambda: world.finished(1))
    (world.site.work / "1/s1" / STAYS).touch()
    world.clock.utc = lambda: "2100-01-01T00:00:00.000Z"
    return world


def test_a_directory_that_cannot_be_removed_is_told_once_and_tried_again(over, monkeypatch, caplog):
    with in_use(monkeypatch):
        an_hour_later(over)
        an_hour_later(over)
    (told,) = [record.getMessage() for record in caplog.records if "cannot be removed" in record.getMessage()]
    words, _, where = told.removesuffix("; it is tried again").rpartition(": ")
    assert words == f"1: cannot be removed: [Errno {errno.EBUSY}] Device or resource busy"
    assert where == f"'{over.site.work}/.removed-1/s1/{STAYS}'"
    assert over.store.removals.to_finish() == [(1, "1")]
    left = [path.name for path in (over.site.work / ".removed-1").rglob("*")]
    assert left == ["s1", STAYS], "all else is gone"
    an_hour_later(over)
    assert over.store.removals.to_finish() == []
    assert not (over.site.work / ".removed-1").exists()


def test_the_next_keeper_tells_it_again_and_carries_on(over, monkeypatch, caplog):
    utc = over.clock.utc
    with in_use(monkeypatch):
        an_hour_later(over)
        over.restart()
        an_hour_later(over)
    assert caplog.text.count("1: cannot be removed") == 2
    over.restart()
    over.clock.utc = utc
    an_hour_later(over)
    assert over.store.removals.to_finish() == []


def test_what_vanishes_meanwhile_is_removed(over, monkeypatch, caplog):
    """As what a wrapper that ends late takes away itself."""
    unlink = os.unlink

    def late(path, **more):
        unlink(path, **more)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", late)
        an_hour_later(over)
    assert "cannot be removed" not in caplog.text
    assert over.store.removals.to_finish() == []


# As a person asks


@pytest.fixture
def ended(world):
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.finish(1)
    world.until(lambda: world.finished(1))
    return world


def wish(world, verb, target="1", **more):
    inbox.wish(world.site.state, verb, target, by="alice", **more)


def is_gone(world):
    places = world.site.state / "answers/1", world.site.work / "1", *(world.site.state / "keys").iterdir()
    return bool(world.store.removals.at(1)) and not any(place.exists() for place in places)


def test_a_finished_grid_job_is_removed_when_a_person_asks_and_its_key_is_free(ended):
    wish(ended, "remove")
    ended.until(lambda: is_gone(ended))
    ended.go(2)
    assert inbox.names(ended.site.state) == []
    with pytest.raises(UnknownJob):
        ended.store.grid_job(1)
    assert ended.submit(1) == 2


def test_nothing_unfinished_is_removed(world):
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    wish(world, "remove")
    world.go(2)
    told = world.store.journals.of_itself(1, 50)[-1]
    assert (told.now, told.reason) == ("remove changes nothing", "it has not finished; `jim cancel 1` ends it")
    assert inbox.names(world.site.state) == []
    world.batch.start(1)
    assert world.state(1) in (State.SUBMITTED, State.RUNNING)


def test_a_wish_after_it_opens_nothing_again(ended, caplog):
    wish(ended, "remove")
    wish(ended, "retry", "1.0")
    ended.until(lambda: is_gone(ended))
    ended.go(2)
    assert inbox.names(ended.site.state) == []
    assert "cannot be taken: there is no grid job 1" in caplog.text


def test_the_wish_outlives_a_keeper_and_waits_for_the_work_directory(ended, monkeypatch, caplog):
    def away():
        raise BadSite("the work directory is away")

    with monkeypatch.context() as patch:
        patch.setattr(ended.keeper.hold, "reach", away)
        wish(ended, "remove")
        ended.go(2)
    assert "1: cannot be removed: the work directory is away" in caplog.text
    assert (ended.store.removals.at(1), len(inbox.names(ended.site.state))) == ("", 1)
    ended.restart()
    ended.until(lambda: is_gone(ended))


def test_it_waits_for_its_lines_in_the_accounting(ended, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(ended.store.senders, "is_unaccounted", lambda *_: True)
        wish(ended, "remove")
        ended.go(3)
        assert not ended.store.removals.at(1)
    ended.until(lambda: is_gone(ended))


@pytest.mark.parametrize("name", ["spool", "rejected"])
def test_no_link_of_a_payload_lets_the_keeper_remove_old_files_elsewhere(world, tmp_path, name):
    """Worker nodes may not see the account's home, but a link in the work directory leads the keeper there."""
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    (tmp_path / "home/.old").mkdir(parents=True)
    os.utime(tmp_path / "home/.old", (1, 1))
    (world.site.work / name).rename(tmp_path / "aside")
    (world.site.work / name).symlink_to(tmp_path / "home")
    aging._sweep_leftovers(world.keeper, 0.0)
    assert (tmp_path / "home/.old").exists()

"""What cannot be removed just now is told once, and removed later."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager

import pytest

from jim.keeper import aging

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
    words, _, where = told.removesuffix("; tried again hourly").rpartition(": ")
    assert words == f"1: cannot be removed: [Errno {errno.EBUSY}] Device or resource busy"
    assert where in (f"{STAYS!r}", f"'{over.site.work}/.removed-1/s1'")  # up to Python 3.12; from 3.13 on
    assert over.store.removed() == [(1, "1")]
    left = [path.name for path in (over.site.work / ".removed-1").rglob("*")]
    assert left == ["s1", STAYS], "all else is gone"
    an_hour_later(over)
    assert over.store.removed() == []
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
    assert over.store.removed() == []


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
    assert over.store.removed() == []

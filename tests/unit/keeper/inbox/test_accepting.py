"""A file of inbox or spool that cannot be read for a moment is tried again; only an unhealthy one is put aside."""

from __future__ import annotations

import errno
import os

import pytest

from jim.doors import inbox
from jim.keeper.attempts import arrivals, bulk_reports
from jim.model import State

PASSES, STAYS = errno.ESTALE, errno.EACCES


def unread(monkeypatch, module, wanted, number):
    """Let files of which the name has these words be out of reach; what is given back lets them be read again."""
    read, out = module.read_regular, [True]

    def try_it(path, limit):
        if out and wanted in path.name:
            raise OSError(number, os.strerror(number), str(path))
        return read(path, limit)

    monkeypatch.setattr(module, "read_regular", try_it)
    return out.clear


def rejected(world):
    return [path.name for path in (world.site.work / "rejected").iterdir()]


@pytest.fixture
def begun(world):
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    return world


@pytest.mark.parametrize("number", [errno.ESTALE, errno.EIO, errno.ETIMEDOUT, errno.EMFILE])
def test_a_spool_file_that_cannot_be_read_for_a_moment_is_tried_again(begun, monkeypatch, number):
    read_again = unread(monkeypatch, bulk_reports, ".exit", number)
    begun.batch.finish(1)
    begun.go(3)
    assert (rejected(begun), len(list((begun.site.work / "spool").glob("*.exit")))) == ([], 1)
    read_again()
    begun.until(lambda: begun.state(1) is State.COMPLETED)
    assert list((begun.site.work / "spool").iterdir()) == []


def test_what_can_be_read_is_taken_meanwhile(begun, monkeypatch):
    unread(monkeypatch, bulk_reports, ".start", PASSES)
    begun.batch.finish(1)
    begun.until(lambda: begun.state(1) is State.COMPLETED)
    assert rejected(begun) == []


def test_a_spool_file_that_this_account_may_not_read_is_tried_again_as_long_as_it_matters(begun, monkeypatch):
    read_again = unread(monkeypatch, bulk_reports, ".start", STAYS)
    begun.go(3, 100)
    assert (rejected(begun), len(list((begun.site.work / "spool").glob("*.start")))) == ([], 1)
    read_again()
    begun.until(lambda: begun.store.attempt(1, 1, 1).started, 100)
    assert list((begun.site.work / "spool").iterdir()) == []


def test_once_its_attempt_has_ended_such_a_file_says_nothing_new(begun, monkeypatch):
    unread(monkeypatch, bulk_reports, ".start", STAYS)
    begun.go(3, 100)
    begun.batch.finish(1)
    begun.until(lambda: begun.state(1) is State.COMPLETED, 100)
    begun.until(lambda: len(rejected(begun)) == 1, 100)
    assert list((begun.site.work / "spool").iterdir()) == []


def test_spool_files_that_cannot_be_read_for_long_are_read_less_often_and_crowd_out_no_other(begun, monkeypatch):
    """They do not count among those that are taken in at once."""
    looks = []
    read = bulk_reports.read_regular

    def barred(path, limit):
        if path.name.endswith(".start"):
            looks.append(path)
            raise OSError(STAYS, os.strerror(STAYS), str(path))
        return read(path, limit)

    monkeypatch.setattr(bulk_reports, "read_regular", barred)
    monkeypatch.setattr(arrivals, "AT_ONCE", 1)
    begun.go(200, 1)
    assert 2 <= len(looks) <= 40
    begun.batch.finish(1)
    begun.until(lambda: begun.state(1) is State.COMPLETED)


def test_a_spool_file_whose_entry_cannot_be_looked_at_is_tried_again(begun, monkeypatch):
    scandir, out = os.scandir, [True]

    class Entry:
        def __init__(self, entry):
            self.name, self.path, self.entry = entry.name, entry.path, entry

        def stat(self, *, follow_symlinks):
            if out and self.name.endswith(".start"):
                raise OSError(PASSES, os.strerror(PASSES), self.path)
            return self.entry.stat(follow_symlinks=follow_symlinks)

    class Entries:
        def __enter__(self):
            return map(Entry, self.entries)

        def __exit__(self, *_):
            self.entries.close()

        def __init__(self, place):
            self.entries = scandir(place)

    monkeypatch.setattr("jim.keeper.attempts.arrivals.os.scandir", Entries)
    arrivals.take_spool(begun.keeper)
    assert (rejected(begun), begun.state(1)) == ([], State.SUBMITTED)
    out.clear()
    arrivals.take_spool(begun.keeper)
    assert begun.state(1) is State.RUNNING


def test_a_request_that_cannot_be_read_for_a_moment_is_tried_again(world, monkeypatch):
    """A wish for it waits, though the store does not know its grid job; other requests do not."""
    world.submit(1)
    read_again = unread(monkeypatch, inbox, inbox.request_name("k1"), PASSES)
    world.wish("suspend", "1")
    world.submit(1, key="other")
    world.go(2)
    assert [job.id for job in world.store.grid_jobs()] == [2]
    read_again()
    world.go(1)
    assert world.store.grid_job(1).wish == "suspend"
    assert inbox.names(world.site.state) == []


def test_a_wish_that_cannot_be_read_for_a_moment_is_not_overtaken(world, monkeypatch):
    for key in ("k1", "other"):
        world.submit(1, key=key)
    world.go(1)
    world.wish("suspend", "1")
    (first,) = inbox.names(world.site.state)
    read_again = unread(monkeypatch, inbox, first, PASSES)
    world.wish("resume", "1")
    world.wish("suspend", "2")
    world.go(1)
    assert [job.wish for job in world.store.grid_jobs()] == ["", "suspend"]
    assert len(inbox.names(world.site.state)) == 2
    read_again()
    world.rounds.round()
    assert [line.now for line in world.store.journals.of_itself(1)][-2:] == ["suspend requested", "resume requested"]
    assert inbox.names(world.site.state) == []


@pytest.mark.parametrize("content", ["7", "[]", "{}", '{"id": []}', '{"verb": 7, "target": 8}'])
@pytest.mark.parametrize("name", ["request-6b", f"wish-000000001-1-{'a' * 24}", f"wish-000000001-task-{'a' * 24}"])
def test_json_that_is_no_request_and_no_wish_is_put_aside(world, name, content):
    (world.site.state / "inbox" / name).write_text(content)
    world.submit(events=10)
    world.until(lambda: world.batch.tasks)
    assert [each.name for each in (world.site.state / "inbox").iterdir()] == [f".unreadable-{name}"]


@pytest.mark.parametrize("content", ["", '{"verb": "susp', "\xff", "[" * 100_000, "{}"])
def test_what_is_damaged_is_told_once_with_the_place_where_it_lies(world, caplog, content):
    world.submit(1)
    world.wish("suspend", "1")
    (name,) = (each for each in inbox.names(world.site.state) if each.startswith("wish-"))
    (world.site.state / "inbox" / name).write_text(content, encoding="latin-1")
    world.go(5, 100)
    aside = world.site.state / "inbox" / f".unreadable-{name}"
    assert aside.exists()
    (line,) = (each for each in caplog.records if name in each.getMessage())
    told = line.getMessage()
    assert (line.levelname, told.startswith(f"inbox: {name} cannot be taken: ")) == ("ERROR", True), told
    assert told.endswith(f"; it was put aside as {aside}"), told


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_a_wish_that_this_account_may_not_read_is_tried_again_and_told_once(world, monkeypatch, caplog, number):
    for key in ("k1", "other"):
        world.submit(1, key=key)
    world.go(1)
    world.wish("suspend", "1")
    (first,) = inbox.names(world.site.state)
    read_again = unread(monkeypatch, inbox, first, number)
    world.wish("suspend", "2")
    world.go(50, 100)
    assert [job.wish for job in world.store.grid_jobs()] == ["", "suspend"]
    assert inbox.names(world.site.state) == [first]
    (told,) = (each.getMessage() for each in caplog.records if first in each.getMessage())
    assert told.startswith(f"inbox: {first!r} cannot be read now, and will be tried again: ")
    assert f"`chmod u+r {world.site.state / 'inbox' / first}` lets JIM read it" in told
    read_again()
    world.go(1)
    assert world.store.grid_job(1).wish == "suspend"
    assert inbox.names(world.site.state) == []


def test_a_request_that_this_account_may_not_read_is_tried_again_and_holds_up_no_other(world, monkeypatch):
    world.submit(1)
    read_again = unread(monkeypatch, inbox, inbox.request_name("k1"), STAYS)
    world.submit(1, key="other")
    world.go(5, 100)
    assert [job.id for job in world.store.grid_jobs()] == [2]
    read_again()
    world.go(1)
    assert [job.id for job in world.store.grid_jobs()] == [1, 2]


def test_a_keeper_does_not_end_while_it_has_to_try_again(world, monkeypatch):
    world.submit(1)
    read_again = unread(monkeypatch, inbox, "request-", STAYS)
    world.go(3, 100)
    assert not world.rounds.idle()
    read_again()
    world.until(lambda: world.batch.tasks)
    assert inbox.names(world.site.state) == []


def test_a_file_that_is_gone_when_it_is_read_is_nothing(begun, monkeypatch):
    unread(monkeypatch, bulk_reports, ".start", errno.ENOENT)
    unread(monkeypatch, inbox, "wish-", errno.ENOENT)
    begun.wish("suspend", "1")
    begun.go(1)
    assert rejected(begun) == []
    assert list((begun.site.state / "inbox").glob(".unreadable-*")) == []

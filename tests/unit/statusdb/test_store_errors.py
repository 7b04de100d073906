"""A store that cannot do its work for a moment costs a round, and nothing is concluded from it."""

from __future__ import annotations

import sqlite3
from contextlib import nullcontext, suppress

import pytest

from jim.clock import Clock
from jim.database import Connection
from jim.doors import inbox
from jim.doors.serving import serve
from jim.errors import Busy, DiskFull, NotStorable
from jim.handlers.base import Handler
from jim.keeper.attempts.settling import _take_record
from jim.keeper.inbox.accepting import TakingInbox
from jim.keeper.results import collecting
from jim.model import State, Step
from jim.statusdb import open_store
from tests.support.sampled import sampled
from tests.support.splitting_work import submit as split


class Failing:
    """A database connection that fails once, at the n-th statement."""

    def __init__(self, db: Connection, at: int) -> None:
        self._db, self.left, self.armed = db, at, False

    def __getattr__(self, name):
        return getattr(self._db, name)

    def _count(self, sql: str) -> None:
        if not self.armed or sql.startswith(("ROLLBACK", "RELEASE")):
            return
        self.left -= 1
        if self.left == 0:
            raise DiskFull("database or disk is full")

    def execute(self, sql, *values):
        self._count(sql)
        return self._db.execute(sql, *values)

    def executemany(self, sql, *values):
        self._count(sql)
        return self._db.executemany(sql, *values)


def live_through(world, at: int) -> Failing:
    """Let one local job complete and another one fail, retry that, and cancel it; the store fails once on the way."""
    failing = world.store.db = Failing(world.store.db, at)

    def until(true):
        for _ in range(60):
            if true():
                return
            failing.armed = True
            with suppress(DiskFull):
                world.go(1, 5.0)
            failing.armed = False
        raise AssertionError(f"not reached: {world.store.journals.of(1)[-9:]}")

    world.submit(2)
    until(lambda: len(world.batch.tasks) == 2)
    for index, code in ((1, 0), (2, 3)):
        world.batch.start(1, index)
        world.batch.finish(1, index, code)
    until(lambda: world.finished(1))
    world.wish("retry", "1")
    until(lambda: len(world.batch.tasks) == 3)
    world.wish("cancel", "1.1")
    until(lambda: world.finished(1) and not inbox.names(world.site.state))
    return failing


def fails(*_, **__):
    raise DiskFull("database or disk is full")


@pytest.mark.parametrize("start", sampled(range(6)))
def test_wherever_the_store_fails_once_nothing_is_concluded_from_it(tmp_path, monkeypatch, start):
    from tests.support.stand_ins import World

    at, reached, told = 1 + start, True, None
    while reached:
        place = tmp_path / str(at)
        place.mkdir()
        world = World(place, monkeypatch)
        reached = live_through(world, at).left <= 0
        assert [world.state(1, n) for n in range(2)] == [State.COMPLETED, State.KILLED]
        assert sorted(world.batch.ledger) == [("jim-cafe0001-1-1", 1), ("jim-cafe0001-1-1", 2)]
        assert list((world.site.work / "rejected").iterdir()) == []
        lines = [(each.n, each.was, each.now, each.reason) for each in world.store.journals.of(1)]
        assert not [line for line in lines if "full" in line[3] or "changes nothing" in line[2]]
        told = told or sorted(lines, key=str)
        assert sorted(lines, key=str) == told, f"failed at statement {at}"
        at += 48
    assert at > 300


def test_an_exit_record_that_cannot_be_stored_stays_in_the_spool(world, monkeypatch):
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.finish(1)
    with monkeypatch.context() as patch:
        patch.setattr(world.store, "set_attempts", fails)
        with pytest.raises(DiskFull):
            world.go(1)
    assert len(list((world.site.work / "spool").glob("*.exit"))) == 1
    world.until(lambda: world.finished(1))
    assert world.store.grid_job(1).outcome == "completed"


def test_an_exit_record_that_was_found_and_cannot_be_stored_is_no_bad_one(world, monkeypatch):
    monkeypatch.setattr("jim.keeper.attempts.settling.arrivals.ended", fails)
    world.keeper.doubts[1, 1, 1] = "doubt"
    with pytest.raises(DiskFull):
        _take_record(world.keeper, (1, 1, 1), "record")
    assert world.keeper.doubts == {(1, 1, 1): "doubt"}


def test_a_wish_that_cannot_be_stored_stays_in_the_inbox_and_is_not_called_impossible(world, monkeypatch):
    world.submit(2)
    world.until(lambda: world.batch.tasks)
    world.wish("cancel", "1.0")
    with monkeypatch.context() as patch:
        patch.setattr(world.store, "set_local_job", fails)
        with pytest.raises(DiskFull):
            world.go(1)
    assert len(inbox.names(world.site.state)) == 1
    assert not [
        each for each in world.store.journals.of(1) if each.now in ("cancel was requested", "cancel changes nothing")
    ]
    world.go(2)
    assert inbox.names(world.site.state) == []
    assert "cancel" in world.store.wishes(1, 0)


def test_a_resplit_that_cannot_be_looked_at_is_neither_impossible_nor_made_anew(world, monkeypatch):
    split(world)
    world.until(lambda: world.store.grid_jobs(Step.ACTIVE))
    world.move(TakingInbox).resplits.made[1] = "kept"
    inbox.wish(world.site.state, "resplit", "1.0", parameters={"lumis_per_job": 1})
    monkeypatch.setattr(world.store, "local_job", fails)
    with pytest.raises(DiskFull):
        world.go(1)
    assert (world.move(TakingInbox).resplits.made, len(inbox.names(world.site.state))) == ({1: "kept"}, 1)


def test_outputs_are_not_spoilt_by_a_store_that_cannot_be_read(world, monkeypatch):
    """Neither is collecting given up for it where somebody has wished the end."""
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.finish(1)
    world.until(lambda: world.state(1) is State.COMPLETED or world.store.grid_jobs(Step.COLLECTING))
    with monkeypatch.context() as patch:
        patch.setattr("jim.keeper.results.collecting.fill", fails)
        with pytest.raises(DiskFull):
            world.until(lambda: world.finished(1))
        world.store.set_grid_job(1, wish="cancel")
        with pytest.raises(DiskFull):
            world.go(2, 5.0)
    world.until(lambda: world.finished(1))
    job = world.store.grid_job(1)
    assert (job.outcome, job.reason) == ("completed", "")


def test_a_picture_is_not_given_up_for_a_store_that_cannot_be_read(world, monkeypatch):
    class Draws(Handler):
        def collect(self, request, results, place):
            assert len(list(results)) == 1
            return "drawn"

    claims, asked, failures = collecting.completed_in, [], [DiskFull("database or disk is full")]

    def fails_once(*about):
        if failures:
            raise failures.pop()
        yield from claims(*about)

    monkeypatch.setattr(collecting, "completed_in", fails_once)
    monkeypatch.setattr(collecting, "handler_of", lambda *_: asked.append(True) or Draws())
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.finish(1)
    with pytest.raises(DiskFull):
        world.until(lambda: world.finished(1))
    world.until(lambda: world.finished(1))
    assert world.store.grid_job(1).result["line"] == "drawn"


# What SQLite says becomes what JIM does


def test_a_door_that_meets_a_locked_store_says_what_to_do(tmp_path, capsys):
    open_store(tmp_path, Clock(), write=True).close()
    with sqlite3.connect(tmp_path / "status.db", isolation_level=None) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        complaints = []

        def look() -> int:
            store = open_store(tmp_path, Clock())
            store.db.execute("PRAGMA busy_timeout = 1")
            return int(store.unfinished())

        with pytest.MonkeyPatch.context() as patch:
            connect = sqlite3.connect
            patch.setattr("sqlite3.connect", lambda *place, **more: connect(*place, **more | {"timeout": 0.01}))
            assert serve(look, lambda words, error: complaints.append((words, type(error)))) == 1
    assert [kind for _, kind in complaints] == [Busy]
    assert "is locked by another program (database is locked). A running keeper tries" in complaints[0][0]


def test_what_cannot_be_stored_is_put_aside_and_what_passes_is_not(world, monkeypatch):
    for error, left in ((NotStorable("a list"), False), (Busy("locked"), True)):
        world.submit(1, key=f"{left}")

        def add(*_, error=error):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(world.store, "add_grid_job", add)
            with pytest.raises(Busy) if left else nullcontext():
                world.go(1)
        assert bool(inbox.names(world.site.state)) is left

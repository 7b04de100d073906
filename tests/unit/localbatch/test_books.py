"""What the local batch system forgets: whole jobs, once they are too old, and no id is used again."""

from __future__ import annotations

import sqlite3

import pytest

from jim.clock import Clock
from jim.localbatch import daemon, processes
from jim.localbatch.books import Books
from tests.unit.localbatch.place import in_process, main_without_daemon, until


def cancelled(place, size=1):
    """Submit a job and end it at once, without a daemon."""
    job = place.submit("", size)
    place.queue.change("cancel", [(job, 0)])
    return job


def later(place, days):
    """Let so many days of use go by."""
    place.queue.db.execute("UPDATE area SET day = day + ?", (days,))


def known(place):
    """Give the jobs that each table knows: with their tasks, with their lines in the ledger."""
    tables = [("jobs", "id"), ("tasks", "job"), ("ledger", "job")]
    return [{row[0] for row in place.queue.db.execute(f"SELECT {column} FROM {table}")} for table, column in tables]


def forget_all(place):
    books = Books(place.queue.db, Clock())
    while True:
        with books.transaction():
            if not books.forget():
                return


def test_an_ended_job_is_known_for_its_days_and_then_forgotten_as_a_whole(place):
    old = cancelled(place, size=3)
    later(place, 1)
    younger = cancelled(place)
    later(place, 29)
    forget_all(place)
    assert known(place) == [{old, younger}] * 3
    later(place, 1)
    forget_all(place)
    assert known(place) == [{younger}] * 3
    assert place.history(old) == {}
    assert place.queue.change("cancel", [(old, 0)]) == [(old, 0)]


def test_days_without_use_do_not_count(place):
    """Neither a machine that stood still for a year, nor a clock set forward, takes the history away."""
    job = cancelled(place)
    for date in ("2027-01-31", "2027-01-31", "2031-12-24"):
        place.queue.clock = type("SetClock", (Clock,), {"utc": lambda _, date=date: f"{date}T12:00:00.000Z"})()
        place.submit("")
    assert place.queue.db.execute("SELECT day, date FROM area").fetchone() == (3, "2031-12-24")
    forget_all(place)
    assert job in known(place)[0]


def test_what_has_not_ended_as_a_whole_is_never_too_old(place):
    job = place.submit("", size=2)
    place.queue.change("cancel", [(job, 1)])
    place.queue.change("hold", [(job, 2)])
    later(place, 10_000)
    forget_all(place)
    assert known(place) == [{job}] * 3
    assert (len(place.history(job)), place.states()) == (1, {(job, 2): "held"})


def test_ids_are_never_used_again(place):
    first = cancelled(place)
    later(place, 31)
    forget_all(place)
    assert known(place) == [set()] * 3
    assert place.submit("") > first


def test_the_queue_itself_keeps_what_is_not_too_old(place):
    cancelled(place)
    later(place, 30)
    with pytest.raises(sqlite3.IntegrityError, match="a job is kept until"):
        place.queue.db.execute("DELETE FROM jobs")


def test_the_days_are_set_at_init(place, monkeypatch):
    job = cancelled(place)
    assert main_without_daemon(place, monkeypatch, "init", "--history-days", "2") == 0
    later(place, 2)
    forget_all(place)
    assert known(place)[0] == {job}
    later(place, 1)
    forget_all(place)
    assert known(place)[0] == set()


def test_the_daemon_forgets_in_parts(place, monkeypatch):
    monkeypatch.setattr(processes, "strangers", lambda _: [])
    jobs = [cancelled(place, size=400) for _ in range(4)]
    later(place, 31)
    working = in_process(place)
    working.turn()
    assert known(place)[0] == set(jobs[3:])
    assert working.due <= Clock().boot() + daemon.LOOK_SECONDS
    working.turn()
    assert known(place) == [set()] * 3


@pytest.mark.parametrize(
    "at",
    [
        pytest.param("DELETE FROM jobs", marks=pytest.mark.torture),
        pytest.param("DELETE FROM ledger", marks=pytest.mark.torture),
        "DELETE FROM tasks",
        "COMMIT",
    ],
)
def test_a_daemon_killed_while_it_forgets_leaves_whole_jobs(place, at):
    old = cancelled(place, size=3)
    later(place, 31)
    place.submit("echo ran >>ran")
    code = f"""
import os
from jim.localbatch.books import Books
def forget(books, forget=Books.forget):
    books.db.set_trace_callback(lambda text: text.startswith({at!r}) and os.kill(os.getpid(), 9))
    return forget(books)
Books.forget = forget
"""
    assert place.serve(before=code).wait(10) == -9
    assert known(place)[0] == known(place)[1] == known(place)[2] >= {old}
    place.serve()
    until(lambda: known(place) == [{old + 1}] * 3)
    place.ended(old + 1)
    assert place.events("starting") == [("starting", old + 1, 1)]

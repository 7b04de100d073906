"""jim db check compares what the status DB has counted with a recount, and repairs that."""

import json

import pytest

from jim.model import State
from jim.site.lock import Lock
from tests.unit.statusdb.by_hand import add, move, send

RIGHT = """\
counts of local jobs by state: right
states of local jobs, for maps and filters: {}
starts and ends by minute: {}
progress of phases: right
attempts by host: right
"""


@pytest.fixture
def woken(home, monkeypatch):
    """A grid job with a failed local job, and what wakes a keeper."""
    monkeypatch.setattr("jim.cli.db.wake", home.woken.append)
    add(home.store, 1, 5)
    send(home.store, 1, 5)
    move(home.store, 1, State.SUBMITTING, State.FAILED, 2)
    return home.woken


def harm(home):
    home.store.db.execute("UPDATE cells SET states = x'01'")
    home.store.db.execute("INSERT INTO pulse VALUES (1, 7, 'failed', 1), (1, 8, 'failed', 1)")


def test_what_is_right_is_called_right(home, woken):
    assert home.run("db", "check") == (0, RIGHT.format("right", "right"), "")
    assert home.run("db", "check", "--repair")[0] == 0
    assert woken == [], "there was nothing to repair"


def test_what_differs_is_told_and_is_not_touched(home, woken):
    harm(home)
    code, out, _ = home.run("db", "check")
    assert (code, out) == (
        1,
        RIGHT.format("1 row differs", "2 rows differ")
        + "Lists and pages may show wrong numbers: `jim db check --repair` counts anew.\n",
    )
    assert home.store.derived.wrong()["pulse"] == 2


def test_what_differs_is_counted_anew(home, woken):
    harm(home)
    code, out, _ = home.run("db", "check", "--repair")
    assert (code, out) == (0, RIGHT.format("1 row differs, counted anew", "2 rows differ, counted anew"))
    assert home.run("db", "check")[0] == 0
    assert woken == [home.site.state]


def test_it_is_told_in_json(home, woken):
    harm(home)
    code, out, _ = home.run("db", "check", "--json")
    found = {"tally": 0, "cells": 1, "pulse": 2, "phase": 0, "on_host": 0}
    assert (code, json.loads(out)) == (1, {"differing": found, "repaired": False, "left": found})
    code, out, _ = home.run("db", "check", "--repair", "--json")
    assert (code, json.loads(out)) == (0, {"differing": found, "repaired": True, "left": dict.fromkeys(found, 0)})


def test_nothing_is_repaired_beside_a_keeper(home, woken, monkeypatch):
    harm(home)
    monkeypatch.setattr("jim.site.lock.OPENING_SECONDS", 0.0)
    lock = Lock(home.site.state)
    assert lock.take()
    code, _, err = home.run("db", "check", "--repair")
    assert code == 1
    assert "end it first by `jim keeper --end`" in err
    assert home.store.derived.wrong()["cells"] == 1
    lock.release()


def test_where_nothing_is_stored_there_is_nothing_to_check(home):
    assert home.run("db", "check")[0] == 4

"""What the store derives from its rows follows each change, and a check finds whatever differs."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime

import pytest

from jim.clock import Clock
from jim.jobs import Change
from jim.model import Piece, State, Witness
from jim.statusdb.derived import minute_of
from jim.statusdb.derived_sql import BLOCK, DERIVED
from jim.statusdb.list_filters import LocalJobsAsked
from jim.statusdb.store import Store
from tests.unit.statusdb.by_hand import REQUEST, add, move, send

RIGHT = {"tally": 0, "cells": 0, "pulse": 0, "phase": 0, "on_host": 0}
MANY = 2 * BLOCK + 7
STATES = [each for each in State if each is not State.UNKNOWN]


class Walking(Clock):
    """A clock that people set."""

    at = 1_769_857_200  # 2026-01-31T11:00:00Z

    def utc(self) -> str:
        return datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def any_change(store: Store, chance: random.Random, clock: Walking) -> None:
    """Change something, as a keeper may."""
    clock.at += chance.choice((0, 0, 30, 3600))
    job = store.local_job(1, chance.randrange(12))
    attempts = store.attempts(1)
    one = chance.choice(attempts)
    key = one.grid, one.k, one.idx
    verdict, now = chance.choice(("completed", "failed", "again", "killed", "")), chance.choice(STATES)
    numbers = chance.sample(range(12), 4)
    changes: list[Callable[[], object]] = [
        lambda: store.set_local_job(1, job.n, state=now, witness=Witness.KEEPER),
        lambda: store.change([Change(1, job.attempt, job.state, now, Witness.QUEUE, numbers)]),
        lambda: store.set_attempt(*key, host=chance.choice(("a", "b", ""))),
        lambda: store.set_attempt(*key, started=chance.choice(("", clock.utc()))),
        lambda: store.set_attempt(*key, verdict=verdict),
        lambda: store.set_attempts({key: {"started": clock.utc(), "host": "c", "verdict": verdict}}),
        lambda: store.end_waiting(1, "so", 2),  # type: ignore[arg-type]
        lambda: send_again(store),
        lambda: resplit(store),
    ]
    chance.choice(changes)()


def send_again(store: Store) -> None:
    jobs = store.local_jobs(1, (State.WAITING,))
    if jobs:
        store.intend(1, max(store.submission_numbers(1)) + 1, "again", jobs)


def resplit(store: Store) -> None:
    size = store.grid_job(1).size
    with store.transaction():
        store.add_pieces(1, size, [Piece(), Piece(failure="cannot run")])
        store.end_split(1, size + 2)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_derived_follows_every_change(tmp_path, seed):
    clock, chance = Walking(), random.Random(seed)
    with closing(Store(tmp_path / "status.db", clock, write=True)) as store:
        for grid in (1, 2):
            add(store, grid, 12)
            send(store, grid, 5)
        for _ in range(40):
            any_change(store, chance, clock)
        assert store.derived.wrong() == RIGHT
        assert dict(store.seen.states(1, LocalJobsAsked())) == {each.n: each.state for each in store.local_jobs(1)}


def test_what_was_undone_changes_nothing(store):
    add(store, 1, 5)
    send(store, 1, 5)
    with suppress(ZeroDivisionError), store.transaction():
        move(store, 1, State.SUBMITTING, State.RUNNING, 0, 1)
        store.set_attempt(1, 1, 1, host="a", started=store.clock.utc())
        assert 1 / 0
    assert store.derived.wrong() == RIGHT
    assert (store.seen.minutes(1), store.seen.hosts(1, 9), store.seen.lately("2000-01-01T00:00Z")) == ([], [], [])


def test_states_of_very_many_are_found_in_their_blocks(store):
    add(store, 1, MANY)
    send(store, 1, 1000)
    move(store, 1, State.SUBMITTING, State.FAILED, BLOCK - 1, BLOCK, MANY - 1)
    assert store.derived.wrong() == RIGHT
    failed = LocalJobsAsked(states=(State.FAILED,))
    assert [each.n for each in store.seen.local_jobs_page(1, failed, 2)] == [BLOCK - 1, BLOCK]
    assert [each.n for each in store.seen.local_jobs_page(1, failed._replace(after=BLOCK), 2)] == [MANY - 1]
    assert (store.seen.count_local_jobs(1, failed, 100), store.seen.count_local_jobs(1, failed, 1)) == (3, 2)
    around = LocalJobsAsked(numbers=((BLOCK - 2, BLOCK),))
    assert list(store.seen.states(1, around)) == [
        (BLOCK - 2, State.SUBMITTING),
        (BLOCK - 1, State.FAILED),
        (BLOCK, State.FAILED),
    ]
    assert [each for each in store.seen.blocks(1, BLOCK) if each[1] is State.FAILED] == [
        (0, State.FAILED, 1),
        (1, State.FAILED, 1),
        (2, State.FAILED, 1),
    ]


def test_local_jobs_have_no_cells_before_their_split_has_ended(store):
    store.add_grid_job(1, "key", "someone", store.clock.utc(), REQUEST)
    store.add_pieces(1, 0, [Piece(), Piece(failure="cannot run")])
    assert (store.derived.wrong(), list(store.seen.blocks(1, 10))) == (RIGHT, [])
    store.end_split(1, 2)
    assert list(store.seen.states(1, LocalJobsAsked())) == [(0, State.WAITING), (1, State.FAILED)]
    assert store.derived.wrong() == RIGHT


def test_what_a_removed_grid_job_did_still_counts_for_the_site(tmp_path):
    clock = Walking()
    with closing(Store(tmp_path / "status.db", clock, write=True)) as store:
        add(store, 1, 3)
        move(store, 1, State.WAITING, State.FAILED, 0, 1)
        store.removals.remove(store.grid_job(1))
        assert store.derived.wrong() == RIGHT
        assert store.seen.minutes(1) == []
        assert [each[1:] for each in store.seen.lately("2000-01-01T00:00Z")] == [("failed", 2)]
        assert [store.db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("cells", "on_host")] == [
            0,
            0,
        ]


DAY = 1440


@pytest.mark.parametrize(
    ("ago", "left"),
    [
        ([1 * DAY], [1 * DAY]),
        ([3 * DAY, 3 * DAY - 1], [3 * DAY]),  # one hour, as 11:00 is its beginning
        ([3 * DAY, 3 * DAY + 1], [3 * DAY, 3 * DAY + 60]),
        ([399 * DAY, 401 * DAY], [399 * DAY]),
    ],
)
def test_the_pulse_of_the_site_is_kept_by_the_hour_and_then_forgotten(store, monkeypatch, ago, left):
    now = "2026-01-31T11:00:00.000Z"
    monkeypatch.setattr(store.clock, "utc", lambda: now)
    base = minute_of(now)
    store.db.executemany("INSERT INTO pulse VALUES (0, ?, 'failed', 1)", [(base - each,) for each in ago])
    for _ in range(2):  # the second time there is nothing to do
        store.derived.thin()
        found = store.db.execute("SELECT at, count FROM pulse ORDER BY at DESC").fetchall()
        assert [base - at for at, _ in found] == left
    if ago[-1] < 400 * DAY:
        assert sum(count for _, count in found) == len(ago)


def test_grid_jobs_that_were_removed_long_ago_are_forgotten_once_their_files_are_gone(tmp_path):
    clock = Walking()
    with closing(Store(tmp_path / "status.db", clock, write=True)) as store:
        for grid in (1, 2, 3):
            add(store, grid, 1)
        for grid in (1, 2):
            store.removals.remove(store.grid_job(grid))
        store.removals.files_are_gone(1)
        clock.at += 399 * 86_400
        store.removals.remove(store.grid_job(3))
        store.removals.files_are_gone(3)
        store.derived.thin()
        assert all(store.removals.at(grid) for grid in (1, 2, 3))
        clock.at += 2 * 86_400
        store.derived.thin()
        assert (store.removals.at(1), store.removals.to_finish()) == ("", [(2, "")])
        assert store.removals.at(3) == "2027-03-06T11:00:00.000Z"


@pytest.mark.parametrize(
    ("table", "harm"),
    [
        ("tally", "UPDATE tally SET count = count + 1 WHERE state = 'failed'"),
        ("cells", "UPDATE cells SET states = zeroblob(5)"),
        ("pulse", "DELETE FROM pulse WHERE what = 'failed' AND grid > 0"),
        ("phase", "UPDATE phase SET done = 6"),
        ("on_host", "INSERT INTO on_host VALUES (1, 'nowhere', 'failed', 1, '')"),
    ],
)
def test_a_wrong_row_is_found_and_put_right(store, table, harm):
    add(store, 1, 5)
    send(store, 1, 5)
    store.set_attempt(1, 1, 1, host="a", started=store.clock.utc(), verdict="failed")
    move(store, 1, State.SUBMITTING, State.FAILED, 0)
    store.publications.publish(1, 0, "phase-sim", '<phase name="sim" done="5" total="9" unit="events"/>')
    before = store.seen.lately("2000-01-01T00:00Z")
    store.db.execute(harm)
    assert store.derived.wrong() == {**RIGHT, table: 1}
    store.derived.make_anew()
    assert store.derived.wrong() == RIGHT
    assert store.seen.lately("2000-01-01T00:00Z") == before
    assert [(each.done, each.total) for each in store.publications.phases(1)] == [(5, 9)]


def test_each_derived_table_is_checked(store):
    assert {*store.derived.wrong()} == {*DERIVED}


def test_no_time_is_no_minute():
    assert (minute_of(""), minute_of("1970-01-01T00:02:59.999Z")) == (None, 2)

"""How first attempts go, and when they hold back further ones."""

from contextlib import closing

import pytest

from jim.clock import Clock
from jim.statusdb.grid.first_attempts import FEWEST, LOOKED_AT, TRIED_AT_MOST, Further
from jim.statusdb.store import Store
from tests.unit.statusdb.grounds import add

LATER = "2026-01-31T12:00:00.000Z"
COLUMNS = "grid, k, idx, n, attempt, started, verdict, updated, kind"
INSERT = f"INSERT INTO attempt ({COLUMNS}) VALUES (1, ?, ?, ?, ?, ?, ?, ?, 'exit')"


@pytest.fixture
def store(tmp_path):
    with closing(Store(tmp_path / "status.db", Clock(), write=True)) as store:
        add(store, 1)
        yield store


def tried(store, *verdicts, attempt=1, started="x", k=1):
    """Record attempts with these verdicts; the empty one runs."""
    rows = ((k, n + 1, n, attempt, started, verdict, LATER) for n, verdict in enumerate(verdicts))
    with store.transaction():
        store.db.executemany(INSERT, rows)


@pytest.mark.parametrize(
    ("verdicts", "held"),
    [
        (["again"] * FEWEST, True),
        (["again"] * (FEWEST - 1), False),
        (["again", "failed"] * 4 + ["completed"] * 7, True),
        (["again", "failed"] * 4 + ["completed"] * 4 + [""] * 4, False),
        (["killed"] * 20, False),
    ],
)
def test_more_than_half_of_the_first_attempts_have_to_fail(store, verdicts, held):
    tried(store, *verdicts)
    assert store.first_attempts.held_back(1) == (Further(live=False, booted="") if held else None)


def test_the_last_ones_that_have_started_count(store):
    tried(store, *["again"] * 40)
    tried(store, *[""] * 40, k=2, started="")
    assert store.first_attempts.held_back(1)
    tried(store, *["completed"] * LOOKED_AT, k=3)
    assert store.first_attempts.held_back(1) is None


def test_what_a_black_hole_ate_does_not_count(store):
    tried(store, *["again"] * FEWEST)
    store.spared.spare((1, 1, 1), 0, "hole")
    assert store.first_attempts.held_back(1) is None


def test_further_attempts_hold_back_nothing_once_one_has_ended_well_or_many_have_failed(store):
    tried(store, *["again"] * 20)
    tried(store, "", attempt=2, k=2)
    store.db.execute(
        "INSERT INTO submission (grid, k, mark, size, state, updated, booted) "
        "VALUES (1, 2, 'm', 1, 'ended', '', 'boot 7')"
    )
    assert store.first_attempts.held_back(1) == Further(live=True, booted="boot 7")
    tried(store, *["failed"] * (TRIED_AT_MOST - 1), attempt=2, k=3)
    assert store.first_attempts.held_back(1)
    tried(store, "failed", attempt=3, k=4)
    assert store.first_attempts.held_back(1) is None
    tried(store, *["again"] * 20, k=5)
    assert store.first_attempts.held_back(1) is None

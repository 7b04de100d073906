"""The attempts of all grid jobs by host, of whatever store there is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jim.model import Kind, Reason, SubmissionState
from jim.statusdb.list_filters import GridJobOnHost, HostTotal
from jim.statusdb.store import Store
from tests.support.cli_home import SetClock
from tests.unit.statusdb.grounds import GROUNDS, Sqlite, add

SEGV, FULL = Reason(Kind.EXIT, {"code": 139}, "exit 139"), Reason(Kind.EXIT, {"code": 3}, "exit 3: disk full")


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture(params=GROUNDS)
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Sqlite:
    (tmp_path / "state").mkdir()
    return GROUNDS[request.param](tmp_path / "state")


def end(store: Store, clock: SetClock, minute: int, grid: int, idx: int, host: str, verdict: str, why: object) -> None:
    clock.wall = f"2026-01-31T12:{minute:02d}:00.000Z"
    store.set_attempt(grid, 1, idx, host=host, started="2026-01-31T12:00:00Z")
    if verdict:
        store.set_attempt(grid, 1, idx, verdict=verdict, reason=why or Reason(), record="up 7.5\n")


@pytest.fixture
def store(ground: Sqlite, clock: SetClock) -> Iterator[Store]:
    """Two grid jobs on two hosts; one local job runs, one has not started."""
    with closing(ground.open(clock=clock)) as made:
        for grid in (1, 2):
            add(made, grid, 4)
            made.intend(grid, 1, f"mark-{grid}", made.local_jobs(grid))
            made.set_submission(grid, 1, state=SubmissionState.CONFIRMED)
        end(made, clock, 1, 1, 1, "a", "failed", SEGV)
        end(made, clock, 2, 1, 2, "a", "again", FULL)
        end(made, clock, 3, 1, 3, "b", "completed", None)
        end(made, clock, 4, 2, 1, "a", "failed", FULL)
        end(made, clock, 5, 2, 2, "a", "completed", None)
        end(made, clock, 6, 2, 3, "a", "killed", Reason(Kind.CANCELLED, {}, "cancelled"))
        end(made, clock, 7, 2, 4, "b", "", None)
        yield made


def at(minute: int) -> str:
    return f"2026-01-31T12:{minute:02d}:00.000Z"


def test_attempts_are_counted_by_host(store: Store) -> None:
    a, b = HostTotal("a", 5, 0, 1, 3, at(4), at(5)), HostTotal("b", 2, 1, 1, 0, "", at(3))
    assert sorted(store.hosts.totals()) == [a, b]
    assert store.hosts.totals("b") == [b]
    assert store.hosts.totals("c") == []
    assert (a.share, b.share) == (0.75, 0.0)


def test_reasons_are_those_of_failures(store: Store) -> None:
    found = store.hosts.reasons(10)
    assert {host: [(each.reason.words, each.times) for each in those] for host, those in found.items()} == {
        "a": [("exit 3: disk full", 2), ("exit 139", 1)]
    }
    assert found["a"][0].reason.kind is Kind.EXIT
    assert store.hosts.reasons(10, "b") == {}
    assert sum(map(len, store.hosts.reasons(1, "a").values())) == 1


def test_the_latest_ends_come_first_and_then_what_runs(store: Store) -> None:
    found = store.hosts.tried_lately(at(2), 10)
    assert [(each.grid, each.n, each.verdict) for each in found] == [
        (2, 2, "killed"),
        (2, 1, "completed"),
        (2, 0, "failed"),
        (1, 2, "completed"),
        (1, 1, "again"),
        (2, 3, ""),
    ]
    assert found[2].kind is Kind.EXIT
    assert found[2][:9] == ("a", 2, 1, 1, 0, 1, "2026-01-31T12:00:00Z", "failed", "exit 3: disk full")
    assert (found[2].updated, found[2].record) == (at(4), "up 7.5\n")
    assert [each.verdict for each in store.hosts.tried_lately("", 1)] == ["killed", ""]


def test_attempts_and_grid_jobs_of_one_host(store: Store) -> None:
    assert [(each.grid, each.n) for each in store.hosts.attempts_on("a", 3)] == [(2, 2), (2, 1), (2, 0)]
    assert store.hosts.attempts_on("c", 3) == []
    assert store.hosts.grid_jobs_on("a", 5) == [GridJobOnHost(2, 3, 1), GridJobOnHost(1, 2, 2)]
    assert store.hosts.grid_jobs_on("a", 1) == [GridJobOnHost(2, 3, 1)]

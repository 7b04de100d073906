"""The map: runs of cells that look alike, whatever their number."""

from __future__ import annotations

import pytest

from jim.model import State
from jim.reading import lists
from jim.reading.filters import read
from jim.reading.job.map import Look, Map, Run, map_of, worst
from jim.reading.view import View
from tests.support.cli_home import Home, sent

DONE, FAILED, WAITING = Look(State.COMPLETED), Look(State.FAILED), Look(State.WAITING)


def drawn(home: Home, query: str = "", number: int = 1) -> Map | None:
    view = View(home.site, home.store)
    pairs = [tuple(each.split("=", 1)) for each in query.split("&") if each]
    return map_of(view, view.grid_job(number), read(lists.LOCAL_JOBS, pairs))  # type: ignore[arg-type]


def test_neighbours_that_look_alike_are_joined(home: Home) -> None:
    home.add(size=30)
    for n in (3, 4, 24, 25):
        home.move(n, State.FAILED)
    found = drawn(home)
    assert found is not None
    assert (found.first, found.count, found.per_cell, found.columns, found.cells, found.rows) == (0, 30, 1, 25, 30, 2)
    assert found.runs == {
        WAITING: [Run(0, 0, 3), Run(5, 0, 19), Run(1, 1, 4)],
        FAILED: [Run(3, 0, 2), Run(24, 0, 1), Run(0, 1, 1)],
    }
    assert found.counts == {State.WAITING: 26, State.FAILED: 4}


def test_a_run_ends_with_its_row(home: Home) -> None:
    home.add(size=120)
    found = drawn(home)
    assert found is not None
    assert found.runs == {WAITING: [Run(0, 0, 50), Run(0, 1, 50), Run(0, 2, 20)]}


def test_a_filter_dims_what_it_leaves_out(home: Home) -> None:
    sent(home)
    found = drawn(home, "state=failed")
    assert found is not None
    assert {look for look in found.runs if not look.dim} == {FAILED}
    assert {look.state for look in found.runs if look.dim} == {State.RUNNING, State.HELD, State.WAITING}


def test_a_range_is_drawn_alone(home: Home) -> None:
    home.add(size=30)
    found = drawn(home, "n=10-19")
    assert found is not None
    assert (found.first, found.count, found.runs) == (10, 10, {WAITING: [Run(0, 0, 10)]})
    assert drawn(home, "n=25-99").count == 5  # type: ignore[union-attr]
    assert drawn(home, "n=3").count == 30, "one number alone is found in the whole"  # type: ignore[union-attr]


def test_a_grid_job_that_is_not_split_has_no_map(home: Home) -> None:
    home.add(size=0)
    assert drawn(home) is None


def test_many_local_jobs_share_cells(home: Home) -> None:
    home.add(size=25_000)
    home.move(24_999, State.FAILED)
    found = drawn(home)
    assert found is not None
    assert (found.per_cell, found.cells, found.columns, found.rows) == (10, 2500, 100, 25)
    assert found.runs[Look(State.FAILED, 1)] == [Run(99, 24, 1)]
    assert sum(run.length for runs in found.runs.values() for run in runs) == 2500


@pytest.mark.parametrize(
    ("counts", "look"),
    [
        ({State.COMPLETED: 250}, Look(State.COMPLETED, 5)),
        ({State.COMPLETED: 249, State.FAILED: 1}, Look(State.FAILED, 1)),
        ({State.COMPLETED: 1, State.FAILED: 249}, Look(State.FAILED, 5)),
        ({State.RUNNING: 60, State.WAITING: 40}, Look(State.RUNNING, 3)),
        ({State.KILLED: 1, State.HELD: 99}, Look(State.KILLED, 1)),
        ({State.HELD: 1, State.COMPLETED: 1}, Look(State.HELD, 3)),
    ],
)
def test_a_cell_of_several_shows_the_worst_of_them(counts: dict[State, int], look: Look) -> None:
    assert worst(counts) == look


def test_ranges_are_round_and_leave_nothing_out() -> None:
    found = Map(0, 10_000, 1, 200, {}, {}).ranges()
    assert found[:2] == [(0, 199), (200, 399)]
    assert (len(found), found[-1]) == (50, (9800, 9999))
    assert Map(10, 250, 1, 50, {}, {}).ranges() == [(first, first + 4) for first in range(10, 260, 5)]
    assert Map(0, 200, 1, 50, {}, {}).ranges() == []

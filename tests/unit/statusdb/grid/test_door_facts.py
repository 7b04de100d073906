"""What doors keep of grid jobs."""

from contextlib import closing

import pytest

from jim.clock import Clock
from jim.jobs import PLACED, AtDoor
from jim.model import Step
from jim.statusdb.store import Store
from tests.unit.statusdb.grounds import add

PLACES = {"directory": "/w", "files": {"stdout": "/w/o\udcff"}}


@pytest.fixture
def store(tmp_path):
    with closing(Store(tmp_path / "status.db", Clock(), write=True)) as store:
        add(store, 1)
        add(store, 2)
        yield store


def test_a_grid_job_of_which_nothing_is_kept_waits_for_nothing(store):
    assert store.at_doors.of(1) == AtDoor()
    assert not store.at_doors.of(1).waits
    assert not store.at_doors.any_unplaced()


def test_each_fact_is_kept_beside_the_others_and_is_a_change(store):
    store.changed()
    store.at_doors.change(1, after=7)
    store.at_doors.change(1, places={"directory": "/w"})
    store.at_doors.change(1, cancelled=True)
    assert store.at_doors.of(1) == AtDoor(7, True, {"directory": "/w"}, "")
    assert store.changed() == {1}
    assert store.at_doors.of(2) == AtDoor()


def test_outputs_wait_from_the_end_until_they_are_placed_or_nobody_wants_them(store):
    for grid, last in ((1, {"placed": PLACED}), (2, {"cancelled": True})):
        store.at_doors.change(grid, places=PLACES)
        assert (store.at_doors.of(grid).waits, store.at_doors.any_unplaced()) == (True, False)
        store.set_grid_job(grid, step=Step.FINISHED, outcome="completed")
        assert store.at_doors.any_unplaced()
        store.at_doors.change(grid, **last)
        assert (store.at_doors.of(grid).waits, store.at_doors.any_unplaced()) == (False, False)


def test_a_name_that_is_no_text_comes_back_as_it_was(store):
    store.at_doors.change(1, places=PLACES)
    assert store.at_doors.of(1).places == PLACES


def test_a_removed_grid_job_leaves_nothing(store):
    store.at_doors.change(1, places=PLACES)
    store.removals.remove(store.grid_job(1))
    assert store.db.execute("SELECT count(*) FROM at_door").fetchone() == (0,)

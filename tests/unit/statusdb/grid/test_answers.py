"""Which last answers of grid jobs are written."""

from contextlib import closing

import pytest

from jim.clock import Clock
from jim.model import Step
from jim.statusdb.store import Store
from tests.unit.statusdb.grounds import add


@pytest.fixture
def store(tmp_path):
    with closing(Store(tmp_path / "status.db", Clock(), write=True)) as store:
        for grid in (1, 2, 3):
            add(store, grid)
        for grid in (2, 3):
            store.set_grid_job(grid, step=Step.FINISHED, outcome="completed")
        yield store


def test_an_answer_is_owed_until_a_finished_grid_job_has_its_last_one(store):
    assert store.answers.owed() == [1, 2, 3]
    store.answers.are_written([3])
    assert (store.answers.owed(), store.answers.written()) == ([1, 2], [3])
    store.removals.remove(store.grid_job(2))
    assert store.answers.owed() == [1]


def test_a_grid_job_that_goes_on_owes_another_answer(store):
    store.answers.are_written([2, 3])
    store.set_grid_job(3, step=Step.ACTIVE)
    assert (store.answers.owed(), store.answers.written()) == ([1, 3], [2])
    store.set_grid_job(3, step=Step.FINISHED)
    assert store.answers.owed() == [1, 3]


def test_an_answer_that_is_to_be_written_anew_is_owed(store):
    store.answers.are_written([2, 3])
    store.answers.write_anew([3])
    assert (store.answers.owed(), store.answers.written()) == ([1, 3], [2])

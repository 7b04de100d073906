"""The numbers of grid jobs: which there are, which were, and whose key is whose."""

from contextlib import closing

import pytest

from jim.clock import Clock
from jim.statusdb.store import Store
from tests.unit.statusdb.grounds import add


@pytest.fixture
def store(tmp_path):
    with closing(Store(tmp_path / "status.db", Clock(), write=True)) as store:
        yield store


def test_a_number_that_was_removed_is_still_the_highest(store):
    assert (store.numbers.all(), store.numbers.highest()) == ([], 0)
    for grid in (3, 7, 5):
        add(store, grid)
    store.removals.remove(store.grid_job(7))
    assert (store.numbers.all(), store.numbers.highest()) == ([3, 5], 7)


def test_a_key_names_its_grid_job_until_that_is_removed(store):
    add(store, 2)
    assert (store.numbers.of_key("key-2"), store.numbers.of_key("key-3")) == (2, 0)
    store.removals.remove(store.grid_job(2))
    assert store.numbers.of_key("key-2") == 0


def test_only_directories_with_other_names_than_the_number_are_told(store):
    for grid in (1, 2):
        add(store, grid)
    store.set_grid_job(2, place="2-nonce")
    assert store.numbers.places() == {2: "2-nonce"}

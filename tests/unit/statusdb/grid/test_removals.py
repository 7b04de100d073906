"""Grid jobs that are removed: nobody sees them, and their files are remembered."""

from contextlib import closing

import pytest

from jim.clock import Clock
from jim.statusdb.store import Store
from tests.unit.statusdb.grounds import CREATED, REQUEST, add


@pytest.fixture
def store(tmp_path):
    with closing(Store(tmp_path / "status.db", Clock(), write=True)) as store:
        yield store


def test_what_is_removed_is_unseen_and_its_files_remembered(store):
    for grid in (1, 2):
        add(store, grid)
        store.intend(grid, 1, "mark", store.local_jobs(grid))
        store.publications.publish(grid, 0, "name", "<old/>")
    store.set_grid_job(1, place="1-nonce")
    before = store.clock.utc()
    store.removals.remove(store.grid_job(1))
    assert before <= store.removals.at(1) <= store.clock.utc()
    assert store.removals.at(2) == ""
    assert ([job.id for job in store.grid_jobs()], store.numbers.of_key("key-1")) == ([2], 0)
    assert (store.local_jobs(1), store.counts(1), store.attempts(1), store.submission_numbers(1)) == ([], {}, [], set())
    assert (store.journals.of(1), list(store.publications.details(1))) == ([], [])
    assert store.removals.to_finish() == [(1, "1-nonce")]
    assert store.add_grid_job(3, "key-1", "someone", CREATED, REQUEST)
    store.removals.files_are_gone(1)
    assert store.removals.to_finish() == []
    assert store.removals.at(1), "people may still ask for it"
    assert len(store.local_jobs(2)) == 3

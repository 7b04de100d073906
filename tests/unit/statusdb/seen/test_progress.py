"""The progress of a grid job in one line."""

from contextlib import closing

import pytest

from jim.clock import Clock
from jim.model import Kind, Reason, State, Witness
from jim.statusdb.seen.progress import progress
from jim.statusdb.store import Store
from tests.unit.statusdb.grounds import CREATED, REQUEST, add

WAITING = (State.WAITING,)


@pytest.fixture
def store(tmp_path):
    with closing(Store(tmp_path / "status.db", Clock(), write=True)) as store:
        yield store


def line(store):
    return progress(store, store.grid_job(1))


def sent(store):
    store.intend(1, 1, "mark", store.local_jobs(1, WAITING))


def fail(store, n, words):
    store.set_attempt(1, 1, n + 1, host=f"node{n}", verdict="failed")
    store.set_local_job(1, n, state=State.FAILED, witness=Witness.KEEPER, reason=Reason(Kind.EXIT, {}, words))


def test_before_the_split(store):
    store.add_grid_job(1, "k", "me", CREATED, REQUEST)
    assert line(store) == "not split yet"


def test_of_one_and_of_many(store):
    add(store, size=1)
    assert line(store) == "0 of 1 local job completed"
    add(store, 2, size=3000)
    assert progress(store, store.grid_job(2)) == "0 of 3,000 local jobs completed"


def test_the_latest_phase_stands_first(store):
    add(store, size=9)
    sent(store)
    for key, done, name, updated in (("phase-a", 8, "initialise", "2026"), ("phase-b", 117, "generate", "2025")):
        store.publications.publish(1, 0, key, f'<phase name="{name}" done="{done}" total="250" unit="events"/>', 1)
        store.db.execute("UPDATE phase SET updated = ? WHERE key = ?", (updated, key))
    assert line(store) == "initialise 8 of 250 events; 0 of 9 local jobs completed"
    store.db.execute("UPDATE phase SET updated = '2027' WHERE key = 'phase-b'")
    assert line(store) == "generate 117 of 250 events; 0 of 9 local jobs completed"


def test_one_failure_names_its_host_and_several_the_most_frequent_reason(store):
    add(store, size=9)
    sent(store)
    fail(store, 7, "exit 3")
    assert line(store) == "0 of 9 local jobs completed; 1 failed: exit 3 on node7"
    fail(store, 2, "exit 4")
    fail(store, 3, "exit 4")
    assert line(store) == "0 of 9 local jobs completed; 3 failed: exit 4"


def test_a_local_job_that_was_split_again_does_not_count(store):
    add(store, size=3)
    sent(store)
    store.set_local_job(1, 0, state=State.FAILED_FROZEN, witness=Witness.USER)
    assert line(store) == "0 of 2 local jobs completed"

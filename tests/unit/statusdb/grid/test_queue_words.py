"""The batch system's own words for why jobs wait, in a store."""

from __future__ import annotations

import pytest

from jim.clock import Clock
from jim.model import Piece, SubmissionState
from jim.statusdb.list_filters import QueueWords
from jim.statusdb.store import Store

RESOURCES, QOS = (1, 1, "submitted", "Resources"), (1, 1, "submitted", "QOSMaxCpu")


class SetClock(Clock):
    at = "2026-01-31T12:00:00.000Z"

    def utc(self):
        return self.at


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "status.db", SetClock(), write=True)
    store.add_grid_job(1, "key", "me", "", {"job_type": "executable"})
    store.add_pieces(1, 0, [Piece(), Piece()])
    store.end_split(1, 2)
    store.intend(1, 1, "jim-1-1", store.local_jobs(1))
    store.set_submission(1, 1, state=SubmissionState.RECORDED, batch_id="7")
    yield store
    store.close()


def heard(store, seen):
    store.queue_words.put(store.queue_words.new(seen))


def test_a_group_keeps_the_time_of_its_first_listing(store):
    heard(store, {RESOURCES: 3, QOS: 1})
    then, store.clock.at = store.clock.at, "2026-01-31T13:00:00.000Z"
    heard(store, {RESOURCES: 2, (1, 1, "held", "a person"): 1})
    assert store.queue_words.of(1) == [
        QueueWords(1, "held", "a person", 1, store.clock.at),
        QueueWords(1, "submitted", "Resources", 2, then),
    ]
    heard(store, {})
    assert store.queue_words.of(1) == []


def test_a_listing_that_says_the_same_writes_nothing(store):
    heard(store, {RESOURCES: 3})
    before, version = store.changes(), store.version(1)
    assert store.queue_words.new({RESOURCES: 3}) == {}
    heard(store, {RESOURCES: 3})
    assert (store.changes(), store.version(1)) == (before, version)


def test_new_words_are_shown_anew_and_cause_no_look(store):
    store.changed()
    version = store.version(1)
    heard(store, {RESOURCES: 3})
    assert store.version(1) == version + 1
    assert store.changed() == set()


def test_what_is_over_waits_for_nothing(store):
    heard(store, {RESOURCES: 3})
    store.set_submission(1, 1, state=SubmissionState.ENDED)
    assert store.queue_words.of(1) == []
    store.removals.remove(store.grid_job(1))
    heard(store, {RESOURCES: 3})  # by a listing that was asked for before
    assert store.queue_words.new({}) == {}

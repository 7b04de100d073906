"""Submissions that are found in the work directory after a restore."""

from __future__ import annotations

import pytest

from jim.model import State, SubmissionState
from jim.statusdb.grid import restored_submissions

SENT = {1: ("jim-cafe-1-1", 0), 2: ("jim-cafe-1-2", 3)}  # mark and carriers


@pytest.fixture
def store(home):
    """Grid job 1 with four waiting local jobs: the store has forgotten every submission."""
    home.add()
    return home.store


def test_each_local_job_continues_with_its_last_attempt(store):
    job = store.grid_job(1)
    seen = {1: {1: (0, 1), 2: (1, 1)}, 2: {1: (0, 2)}}
    assert restored_submissions.latest(store, job, seen) == {0: ((2, 1), 2), 1: ((1, 2), 1)}
    last = restored_submissions.latest(store, job, seen)
    assert list(restored_submissions.superseded(store, job, seen, last)) == [(1, 1)]


def test_a_completed_local_job_continues_with_none(store, home):
    home.move(0, State.COMPLETED)
    assert restored_submissions.latest(store, store.grid_job(1), {1: {1: (0, 1)}}) == {}


def test_found_submissions_are_looked_for_like_lost_ones(store):
    restored_submissions.take_up(store, store.grid_job(1), SENT, {1: {1: (0, 1)}, 2: {1: (0, 2)}}, 2)
    assert [(each.k, each.state, each.carriers) for each in store.submissions(*SubmissionState)] == [
        (1, SubmissionState.ENDED, 0),
        (2, SubmissionState.UNKNOWN, 3),
    ]
    local = store.local_job(1, 0)
    assert (local.state, local.attempt, local.submission) == (State.SUBMITTING, 2, 2)
    assert store.grid_job(1).submissions == 2
    assert any("2 submissions found" in line.reason for line in store.journals.of(1, None, 10))


def test_an_intent_in_another_s_directory_was_never_submitted(store, home):
    home.send(0, 1)
    restored_submissions.void(store, store.grid_job(1), 1)
    assert store.submissions(*SubmissionState) == []
    assert [(each.state, each.attempt) for each in store.local_jobs(1)] == [(State.WAITING, 0)] * 4


def test_an_intended_submission_with_superseded_attempts_is_looked_for(store, home):
    home.send(0, 1)
    restored_submissions.take_up(store, store.grid_job(1), SENT, {2: {1: (0, 2)}}, 2)
    assert [(each.k, each.state) for each in store.submissions(*SubmissionState)] == [
        (1, SubmissionState.UNKNOWN),
        (2, SubmissionState.UNKNOWN),
    ]
    assert [(each.idx, each.verdict) for each in store.attempts(1, k=1)] == [(1, "again"), (2, "")]

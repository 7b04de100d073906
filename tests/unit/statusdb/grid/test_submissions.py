"""What is counted on of submissions and attempts, of whatever store there is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jim.errors import NotStorable
from jim.jobs import Change
from jim.model import NO_REASON, Reason, State, SubmissionState, Witness
from jim.statusdb.store import Store
from tests.unit.statusdb.grounds import CREATED, GROUNDS, Sqlite, add

WAITING = (State.WAITING,)


@pytest.fixture(params=GROUNDS)
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Sqlite:
    place = tmp_path / "state"
    place.mkdir()
    return GROUNDS[request.param](place)


@pytest.fixture
def store(ground: Sqlite) -> Iterator[Store]:
    with closing(ground.open()) as made:
        yield made


def sent(store: Store, *, grid: int = 1, k: int = 1) -> None:
    """Send what waits, and let the batch system accept it."""
    store.intend(grid, k, f"mark-{grid}-{k}", store.local_jobs(grid, WAITING))
    store.set_submission(grid, k, state=SubmissionState.CONFIRMED, batch_id="4711")


def moved(store: Store, was: State, now: State, *numbers: int, attempt: int = 1, why: Reason = NO_REASON) -> None:
    store.change([Change(1, attempt, was, now, Witness.QUEUE, numbers, why)])


def test_whether_anything_has_started_elsewhere(store: Store) -> None:
    add(store)
    sent(store)
    assert not store.has_started_off("node1")
    store.set_attempt(1, 1, 1, host="node1")
    assert (store.has_started_off("node1"), store.has_started_off("node2")) == (False, True)


def test_submissions_are_given_by_state(store: Store) -> None:
    for grid in (1, 2):
        add(store, grid)
        sent(store, grid=grid)
    store.set_submission(2, 1, state=SubmissionState.UNKNOWN, tries=1, due=7.0, trouble="away", reason="lost")
    assert [each.grid for each in store.submissions(SubmissionState.CONFIRMED)] == [1]
    assert [each.due for each in store.submissions(SubmissionState.UNKNOWN, SubmissionState.CONFIRMED, grid=2)] == [7.0]
    assert store.submission_numbers(1) == {1}
    assert store.any_submission(SubmissionState.VOID, SubmissionState.UNKNOWN)
    assert not store.any_submission(SubmissionState.VOID, SubmissionState.REFUSED)


def test_attempts_are_given_of_a_grid_job_a_local_job_or_a_submission(store: Store) -> None:
    add(store, size=2)
    sent(store)
    for index in (1, 2):
        store.set_attempt(1, 1, index, verdict="again", reason="lost", host="node")
        store.set_local_job(1, index - 1, state=State.WAITING, witness=Witness.KEEPER)
    sent(store, k=2)
    assert [(each.n, each.attempt) for each in store.attempts(1)] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert [each.k for each in store.attempts(1, n=1)] == [1, 2]
    assert [each.n for each in store.attempts(1, k=2)] == [0, 1]
    first = store.attempt(1, 1, 1)
    assert first
    assert (first.verdict, first.reason, first.host) == ("again", "lost", "node")


def test_several_attempts_change_at_once_each_in_its_columns(store: Store) -> None:
    add(store)
    sent(store)
    store.changed()
    store.set_attempts(
        {(1, 1, 1): {"started": CREATED, "host": "a"}, (1, 1, 3): {"record": "r"}, (1, 1, 9): {"host": ""}}
    )
    assert [(each.idx, each.started, each.host, each.record) for each in store.attempts(1)] == [
        (1, CREATED, "a", ""),
        (2, "", "", ""),
        (3, "", "", "r"),
    ]
    assert store.changed() == {1}
    store.set_attempts({})
    with pytest.raises(NotStorable):
        store.set_attempts({(1, 1, 2): {"host": "b"}, (1, 1, 3): {"verdict": None}})
    assert [each.host for each in store.attempts(1)] == ["a", "", ""], "all or none"


def test_what_evidence_is_compared_with(store: Store) -> None:
    for grid in (1, 2):
        add(store, grid, size=2)
        store.intend(grid, 1, f"mark-{grid}", store.local_jobs(grid, WAITING))
    store.set_submission(1, 1, state=SubmissionState.CONFIRMED)
    store.set_attempt(1, 1, 2, started=CREATED, nonce="5e0c")
    store.set_local_job(1, 1, wish="cancel")
    store.set_grid_job(1, started=1)
    store.set_attempt(2, 1, 1, verdict="failed")
    store.set_local_job(2, 1, attempt=2)
    common = {"attempt": 1, "state": State.SUBMITTING, "wish": "", "nonce": ""}
    first = {"grid": 1, "k": 1, "mark": "mark-1", "confirmed": True, "grid_started": True, "live": True, **common}
    second = {"grid": 2, "k": 1, "mark": "mark-2", "confirmed": False, "grid_started": False, "live": False, **common}
    for each, about in ((1, first), (2, second)):
        submission = store.submission(each, 1)
        assert submission
        about |= {"intended": submission.intended, "booted": submission.booted}
    found = store.compared([(2, 1, 1), (1, 1, 1), (1, 1, 2), (2, 1, 2), (1, 1, 3), (3, 1, 1)])
    assert {key: each._asdict() for key, each in found.items()} == {
        (1, 1, 1): {**first, "idx": 1, "n": 0, "started": False},
        (1, 1, 2): {**first, "idx": 2, "n": 1, "started": True, "wish": "cancel", "nonce": "5e0c"},
        (2, 1, 1): {**second, "idx": 1, "n": 0, "started": False},
        (2, 1, 2): {**second, "idx": 2, "n": 1, "started": False},  # a later attempt is its local job's
    }
    assert store.compared([]) == {}


def test_what_was_claimed_last_is_told_of_any_local_jobs(store: Store) -> None:
    for grid in (1, 2):
        add(store, grid, size=2)
        sent(store, grid=grid)
    store.set_attempt(1, 1, 2, verdict="again", record="of the first attempt")
    store.set_local_job(1, 1, state=State.WAITING, witness=Witness.KEEPER)
    sent(store, k=2)
    store.set_attempt(1, 2, 1, record="of the second")
    found = [(grid, each.n, each.k, each.idx, each.record) for grid, each in store.claimed([(2, 0), (1, 1), (1, 7)])]
    assert sorted(found) == [(1, 1, 2, 1, "of the second"), (2, 0, 1, 1, "")]


def test_what_is_given_up_waits_for_its_verdict(store: Store) -> None:
    add(store)
    sent(store)
    store.set_attempt(1, 1, 2, over="so")
    assert [(each.idx, each.over) for each in store.given_up()] == [(2, "so")]
    store.set_attempt(1, 1, 2, verdict="failed")
    assert store.given_up() == []


def test_how_local_jobs_ended_is_told_by_their_last_attempt(store: Store) -> None:
    add(store, size=2)
    sent(store)
    store.set_attempt(1, 1, 1, verdict="completed", record="its record")
    store.set_local_job(1, 0, state=State.COMPLETED, witness=Witness.EXIT_RECORD)
    store.set_local_job(1, 1, state=State.COMPLETED, witness=Witness.USER, reason="forced")
    store.set_attempt(1, 1, 2, verdict="failed", record="of a failure")
    first, second = store.ended(1)
    assert first._asdict() == {
        "n": 0,
        "state": "completed",
        "attempt": 1,
        "reason": "",
        "k": 1,
        "idx": 1,
        "record": "its record",
    }
    assert (second.reason, second.record) == ("forced", ""), "what was forced has brought nothing"


def test_a_submission_ends_with_its_last_attempt(store: Store) -> None:
    add(store, size=2)
    sent(store)
    store.set_attempt(1, 1, 1, verdict="completed")
    store.end_submissions(1)
    assert [each.k for each in store.submissions(SubmissionState.CONFIRMED)] == [1]
    store.set_attempt(1, 1, 2, verdict="failed")
    store.end_submissions(1)
    assert [each.k for each in store.submissions(SubmissionState.ENDED)] == [1]

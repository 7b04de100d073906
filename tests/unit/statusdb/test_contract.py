"""What the keeper, the doors and the readers count on, of whatever store there is."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

import pytest

from jim.errors import Away, Busy, Damaged, DiskFull, JimError, NotStorable, StoreError, UnknownJob
from jim.jobs import HELD, Alike, Change, Submission, whole_reason
from jim.model import NO_REASON, Kind, Piece, Reason, State, Step, SubmissionState, Witness
from jim.statusdb import file_of
from jim.statusdb.store import Store
from tests.unit.statusdb.grounds import CREATED, GROUNDS, REQUEST, Sqlite, add, die_halfway

ROOT = Path(__file__).parents[3]
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


@pytest.fixture
def reader(ground: Sqlite, store: Store) -> Iterator[Store]:
    with closing(ground.open(write=False)) as made:
        yield made


def sent(store: Store, *, grid: int = 1, k: int = 1) -> None:
    """Send what waits, and let the batch system accept it."""
    store.intend(grid, k, f"mark-{grid}-{k}", store.local_jobs(grid, WAITING))
    store.set_submission(grid, k, state=SubmissionState.CONFIRMED, batch_id="4711")


def moved(store: Store, was: State, now: State, *numbers: int, attempt: int = 1, why: Reason = NO_REASON) -> None:
    store.change([Change(1, attempt, was, now, Witness.QUEUE, numbers, why)])


def states(store: Store, grid: int = 1) -> list[State]:
    return [each.state for each in store.local_jobs(grid)]


# Grid jobs


def test_a_grid_job_is_taken_in_once_by_its_key_and_by_its_number(store: Store) -> None:
    assert store.add_grid_job(1, "key", "someone", CREATED, REQUEST, "nonce", "arc")
    assert not store.add_grid_job(2, "key", "someone", CREATED, REQUEST)
    assert not store.add_grid_job(1, "other", "someone", CREATED, REQUEST)
    job = store.grid_job(1)
    assert (job.key, job.job_type, job.owner, job.created, job.nonce, job.door) == (
        *("key", "parametric", "someone", CREATED, "nonce", "arc"),
    )
    assert (job.step, job.size, job.wish, job.outcome, job.due, job.place) == (Step.ACCEPTED, 0, "", "", 0.0, "")
    assert job.request == REQUEST
    assert (store.numbers.of_key("key"), store.numbers.of_key("other")) == (1, 0)
    assert [line.now for line in store.journals.of(1)] == ["accepted"]


def test_what_is_not_there_is_unknown(store: Store) -> None:
    add(store)
    for look in (lambda: store.grid_job(2), lambda: store.local_job(1, 3)):
        with pytest.raises(UnknownJob):
            look()
    assert (store.submission(1, 1), store.attempt(1, 1, 1), store.fact("never")) == (None, None, "")


def test_a_store_that_was_never_made_has_no_readers(ground: Sqlite) -> None:
    with pytest.raises(UnknownJob):
        ground.open(write=False)


def test_grid_jobs_are_given_by_step_in_order(store: Store) -> None:
    for number in (3, 1, 2):
        store.add_grid_job(number, str(number), "someone", CREATED, REQUEST)
    store.set_grid_job(2, step=Step.FINISHED)
    assert [job.id for job in store.grid_jobs()] == [1, 2, 3]
    assert [job.id for job in store.grid_jobs(Step.ACCEPTED)] == [1, 3]
    assert [job.id for job in store.grid_jobs(last=2)] == [2, 3]
    assert [job.id for job in store.grid_jobs(Step.ACCEPTED, last=1)] == [3]
    assert store.unfinished()
    for number in (1, 3):
        store.set_grid_job(number, step=Step.FINISHED)
    assert not store.unfinished()


def test_a_new_step_is_due_has_no_tries_and_stands_in_the_journal(store: Store) -> None:
    store.add_grid_job(1, "key", "someone", CREATED, REQUEST)
    store.set_grid_job(1, tries=3, due=5e9, reason="full")
    assert (store.grid_job(1).tries, store.grid_job(1).due) == (3, 5e9)
    store.set_grid_job(1, step=Step.RESOLVED, place="1-nonce", result={"tar": "/t"}, started=1)
    job = store.grid_job(1)
    assert (job.step, job.tries, job.due, job.reason) == (Step.RESOLVED, 0, 0.0, "full")
    assert (job.result, job.started, store.numbers.places()) == ({"tar": "/t"}, True, {1: "1-nonce"})
    assert [(line.was, line.now) for line in store.journals.of_itself(1)] == [
        ("", "accepted"),
        ("accepted", "resolved"),
    ]


def test_a_request_may_change(store: Store) -> None:
    store.add_grid_job(1, "key", "someone", CREATED, REQUEST)
    assert store.grid_job(1).request == REQUEST
    store.set_grid_job(1, request=json.dumps({"job_type": "other"}))
    assert store.grid_job(1).request == {"job_type": "other"}
    with closing(store.reader()) as reader:
        assert reader.grid_job(1).request == {"job_type": "other"}


def test_the_journal_gives_the_last_lines_oldest_first(store: Store) -> None:
    add(store)
    for number in range(5):
        store.note(1, f"line {number}", Witness.USER, "why", n=number % 2)
    assert [line.now for line in store.journals.of(1, last=2)] == ["line 3", "line 4"]
    assert [(line.now, line.n) for line in store.journals.of(1, 1)] == [("line 1", 1), ("line 3", 1)]
    assert all(line.n is None for line in store.journals.of_itself(1))


def test_a_long_journal_is_read_in_parts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jim.statusdb.grid.journals.LINES_AT_ONCE", 3)
    add(store)
    store.add_grid_job(2, "other", "someone", CREATED, REQUEST)
    for number in range(10):
        store.note(1 + number % 2, f"line {number}", Witness.USER, "why", n=number)
    wanted = [f"line {number}" for number in (0, 2, 4, 6, 8)]
    for last in (1, 3, 4, 5):
        assert [line.now for line in store.journals.in_parts(1, last)] == wanted[-last:]
    assert list(store.journals.in_parts(1, 4)) == store.journals.of(1, last=4)
    assert list(store.journals.in_parts(3, 4)) == []


def test_the_last_run_is_the_last_attempt_that_has_started(store: Store) -> None:
    add(store)
    sent(store)
    assert store.last_run(1, 0) is None
    store.set_attempt(1, 1, 1, started=CREATED, verdict="again")
    moved(store, State.SUBMITTING, State.WAITING, 0)
    store.intend(1, 2, "mark-1-2", store.local_jobs(1, WAITING))
    first = store.last_run(1, 0)
    assert first is not None
    assert (first.attempt, first.k, store.local_job(1, 0).attempt) == (1, 1, 2)
    store.set_attempt(1, 2, 1, record="what a wrapper wrote")
    second = store.last_run(1, 0)
    assert second is not None
    assert (second.attempt, second.record) == (2, "what a wrapper wrote")
    assert [(each.n, each.state, each.attempt, each.record) for each in store.ended(1, records=False)] == [
        (0, "submitting", 2, ""),
        *((n, "submitting", 1, "") for n in (1, 2)),
    ]


# Local jobs


def test_local_jobs_count_once_the_split_has_ended(store: Store) -> None:
    store.add_grid_job(1, "key", "someone", CREATED, REQUEST)
    store.add_pieces(1, 0, [Piece(1, 5, ("a",), ("f",)), Piece(failure="too long")])
    assert store.counts(1) == {}
    store.empty(1)
    assert store.local_jobs(1) == []
    store.add_pieces(1, 0, [Piece(1, 5, ("a",), ("f",)), Piece(failure="too long")])
    store.add_pieces(1, 2, [Piece(arguments=("last",))])
    store.end_split(1, 3)
    assert store.counts(1) == {State.WAITING: 2, State.FAILED: 1}
    assert (store.grid_job(1).step, store.grid_job(1).size) == (Step.SPLIT, 3)
    assert store.local_job(1, 0).piece == Piece(1, 5, ("a",), ("f",))
    assert [whole_reason(store.local_job(1, n)) for n in range(3)] == [
        NO_REASON,
        Reason(Kind.NOT_MADE, words="failed on creation: too long"),
        NO_REASON,
    ]


def test_local_jobs_are_given_by_state_number_and_when_they_are_due(store: Store) -> None:
    add(store, size=5)
    for n, due in ((0, 100.0), (1, 50.0), (2, HELD)):
        store.set_local_job(1, n, due=due)
    store.set_local_job(1, 4, state=State.FAILED, witness=Witness.QUEUE)
    numbers = lambda **how: [each.n for each in store.local_jobs(1, WAITING, **how)]  # noqa: E731
    assert numbers() == [0, 1, 2, 3]
    assert numbers(due=99.0) == [1, 3]
    assert numbers(limit=2) == [0, 1]
    assert numbers(first=1, limit=2) == [1, 2]
    assert numbers(first=4) == []
    assert [each.n for each in store.local_jobs(1, (State.WAITING, State.FAILED), limit=5)] == [0, 1, 2, 3, 4]
    assert [each.n for each in store.held(1)] == [2]
    assert store.local_job(1, 2).held


def test_a_change_moves_what_is_where_the_evidence_found_it(store: Store) -> None:
    add(store)
    sent(store)
    store.set_local_job(1, 2, state=State.RUNNING, witness=Witness.CLAIM)
    moved(store, State.SUBMITTING, State.SUBMITTED, 0, 1, 2, why=Reason(Kind.NOTED, words="seen"))
    assert states(store) == [State.SUBMITTED, State.SUBMITTED, State.RUNNING]
    moved(store, State.SUBMITTED, State.HELD, 0, attempt=2)
    assert store.state(1, 0) is State.SUBMITTED
    assert store.counts(1) == {State.SUBMITTED: 2, State.RUNNING: 1}
    line = store.journals.of(1, 0)[-1]
    assert (line.was, line.now, line.witness, line.reason, line.attempt) == (
        *("submitting", "submitted", "queue", "seen", 1),
    )


def test_wishes_are_of_a_grid_job_and_of_local_jobs(store: Store) -> None:
    add(store)
    store.set_local_job(1, 1, wish="cancel")
    store.set_local_job(1, 2, wish="cancel", state=State.KILLED, witness=Witness.USER)
    store.set_grid_job(1, wish="suspend")
    assert (store.wishes(1, 0), store.wishes(1, 1)) == (("suspend", ""), ("suspend", "cancel"))
    assert store.wished(1) == {1}


def test_what_waits_can_be_ended_in_parts(store: Store) -> None:
    add(store)
    cancelled = Reason(Kind.CANCELLED, {"by": "someone"}, "cancelled")
    assert (store.end_waiting(1, cancelled, 2), store.end_waiting(1, cancelled, 2)) == (2, 1)
    assert states(store) == [State.KILLED] * 3
    assert store.seen.reasons(1, (State.KILLED,), 5) == ([Alike(cancelled, 3)], 1)


def test_the_most_frequent_reasons_come_first(store: Store) -> None:
    add(store, size=6)
    a, b, c = (Reason(Kind.EXIT, {"code": code}, f"exit {code}") for code in (1, 2, 3))
    for n, reason in enumerate((a, b, b.words, c, c, c)):  # words alone: a version before has told it
        store.set_local_job(1, n, state=State.FAILED, witness=Witness.QUEUE, reason=reason)
    assert store.seen.reasons(1, (State.FAILED,), 2) == ([Alike(c, 3), Alike(b, 2)], 3)
    assert store.seen.reasons(1, (State.KILLED,), 2) == ([], 0)


WHY = Reason(Kind.NOT_ACCEPTED, {"cause": "unclear", "code": 1}, "not accepted: no")


def told_everywhere(store: Store, why: Reason | str) -> list[Reason]:
    """Tell a reason of a local job, a submission and an attempt, and give what is stored."""
    store.set_local_job(1, 0, reason=why)
    store.set_submission(1, 1, reason=why)
    store.set_attempt(1, 1, 1, reason=why)
    return whole_reasons(store)


def whole_reasons(store: Store) -> list[Reason]:
    submission, attempt = store.submission(1, 1), store.attempt(1, 1, 1)
    assert submission
    assert attempt
    assert store.submissions(SubmissionState.CONFIRMED) == [submission]
    assert (store.attempts(1)[0], store.local_jobs(1)[0]) == (attempt, store.local_job(1, 0))
    return [whole_reason(each) for each in (store.local_job(1, 0), submission, attempt)]


def test_a_reason_is_stored_whole_and_the_next_one_leaves_nothing_of_it(store: Store) -> None:
    add(store)
    sent(store)
    for after in ("words of a person", NO_REASON, Reason(Kind.LOST, words="lost")):
        assert told_everywhere(store, WHY) == [WHY] * 3
        expected = Reason(words=after) if isinstance(after, str) else after
        assert told_everywhere(store, after) == [expected] * 3


def test_a_change_tells_a_whole_reason(store: Store) -> None:
    add(store)
    sent(store)
    moved(store, State.SUBMITTING, State.SUBMITTED, 0, why=WHY)
    assert whole_reason(store.local_job(1, 0)) == WHY
    moved(store, State.SUBMITTED, State.RUNNING, 0)
    assert whole_reason(store.local_job(1, 0)) == NO_REASON


def test_what_is_sent_has_no_reason_left(store: Store) -> None:
    add(store)
    store.set_local_job(1, 0, reason=WHY)
    sent(store)
    assert whole_reason(store.local_job(1, 0)) == NO_REASON


def test_a_kind_of_a_later_version_is_unknown(ground: Sqlite, store: Store) -> None:
    add(store)
    sent(store)
    store.set_local_job(1, 0, reason=WHY)
    ground.write_a_later_kind()
    assert whole_reason(store.local_job(1, 0)) == WHY._replace(kind=Kind.UNKNOWN)
    assert store.seen.reasons(1, (State.SUBMITTING,), 9)[0][1].reason == WHY._replace(kind=Kind.UNKNOWN)
    assert next(store.live()).kind is Kind.UNKNOWN


def test_what_an_attempt_leaves_for_the_next_is_kept(store: Store) -> None:
    add(store)
    store.set_local_job(1, 0, recovery=("--from", "5"), spent=2)
    assert (store.local_job(1, 0).recovery, store.local_job(1, 0).spent) == (("--from", "5"), 2)
    store.set_local_job(1, 0, recovery=())
    assert store.local_job(1, 0).recovery == ()


# Submissions and attempts


def test_an_intent_stores_all_that_is_to_go_out(store: Store) -> None:
    add(store)
    serial = int(store.fact("serial"))
    store.intend(1, 1, "mark", store.local_jobs(1, WAITING, limit=2), 60)
    assert states(store) == [State.SUBMITTING, State.SUBMITTING, State.WAITING]
    assert [(each.attempt, each.submission) for each in store.local_jobs(1)] == [(1, 1), (1, 1), (0, None)]
    assert [(each.k, each.idx, each.n, each.attempt) for each in store.attempts(1)] == [(1, 1, 0, 1), (1, 2, 1, 1)]
    found = store.submission(1, 1)
    assert found
    assert (found.mark, found.size, found.state, found.wall_seconds) == ("mark", 2, SubmissionState.INTENDED, 60)
    assert (store.in_batch(), store.grid_job(1).submissions) == (2, 1)
    assert int(store.fact("serial")) == serial + 1


def test_what_the_batch_system_has_is_counted_with_each_change_and_never_by_half(store: Store, reader: Store) -> None:
    for grid in (1, 2):
        add(store, grid)
        sent(store, grid=grid)
    assert (store.in_batch(), reader.in_batch()) == (6, 6)
    moved(store, State.SUBMITTING, State.COMPLETED, 0, 1)
    assert (store.in_batch(), reader.in_batch()) == (4, 4)

    def fails(together: AbstractContextManager[None]) -> None:
        with together:
            moved(store, State.SUBMITTING, State.FAILED, 2)
            assert store.in_batch() == 3
            raise KeyError

    with pytest.raises(KeyError):
        fails(store.transaction())
    assert (store.in_batch(), reader.in_batch()) == (4, 4)
    with store.transaction():
        with pytest.raises(KeyError):
            fails(store.part())
        assert store.in_batch() == 4


def test_what_is_to_be_verified_is_named_whatever_its_grid_job(store: Store) -> None:
    for grid in (1, 2):
        add(store, grid)
        sent(store, grid=grid)
        store.set_local_job(grid, grid, state=State.COMPLETING)
    assert list(store.seen.completing()) == [(1, 1), (2, 2)]


def test_when_the_first_that_waits_is_due(store: Store) -> None:
    add(store)
    assert store.seen.next_due(1) == 0.0
    for n, due in enumerate((70.0, HELD, 50.0)):
        store.set_local_job(1, n, due=due)
    assert (store.seen.next_due(1), store.seen.next_due(2)) == (50.0, HELD)


def test_a_change_may_count_an_attempt(store: Store) -> None:
    add(store)
    sent(store)
    store.change([Change(1, 1, State.SUBMITTING, State.COMPLETED, Witness.EXIT_RECORD, [0, 2], spent=1)])
    assert [each.spent for each in store.local_jobs(1)] == [1, 0, 1]


def test_live_is_what_the_batch_system_has_and_nobody_has_judged(store: Store) -> None:
    add(store)
    store.intend(1, 1, "mark", store.local_jobs(1, WAITING))
    assert list(store.live()) == []
    store.set_submission(1, 1, state=SubmissionState.RECORDED, batch_id="4711")
    store.set_attempt(1, 1, 1, verdict="completed")
    store.set_attempt(1, 1, 2, started="2026-01-31T12:00:00Z")
    store.set_local_job(1, 2, reason=Reason(Kind.NOTED, {"said": "soon"}, "soon"))
    found = [each._asdict() for each in store.live()]
    unnoted, noted = {"reason": "", "kind": Kind.UNKNOWN}, {"reason": "soon", "kind": Kind.NOTED}
    told = {"grid": 1, "k": 1, "attempt": 1, "mark": "mark", "batch_id": "4711", "confirmed": False}
    told |= {"carrier": 0, "carriers": 0}
    assert found == [
        {**told, **unnoted, "idx": 2, "n": 1, "state": State.SUBMITTING, "started": True},
        {**told, **noted, "idx": 3, "n": 2, "state": State.SUBMITTING, "started": False},
    ]
    assert all((type(each["state"]), type(each["kind"])) == (State, Kind) for each in found)


def test_rivals_are_other_live_submissions_of_the_same_batch_id(store: Store) -> None:
    add(store)
    for k, (mark, batch_id) in enumerate([("one", "100"), ("two", "100"), ("three", "101")], 1):
        store.intend(1, k, mark, store.local_jobs(1, WAITING, limit=1))
        store.set_submission(1, k, state=SubmissionState.CONFIRMED, batch_id=batch_id)
    assert store.rivals([("100", "one"), ("101", "three"), ("", "no id yet")]) == {("100", "two")}
    assert store.rivals([("100", "one"), ("100", "two")]) == {("100", "one"), ("100", "two")}
    assert store.rivals([("101", "of a claim")]) == {("101", "three")}
    store.set_attempt(1, 2, 1, verdict="completed")
    assert store.rivals([("100", "one")]) == set()


def test_a_submission_is_forgotten_and_one_that_was_found_is_taken_up(store: Store) -> None:
    add(store)
    store.intend(1, 1, "mark", store.local_jobs(1, WAITING, limit=1))
    store.forget_submission(1, 1)
    assert (store.submission_numbers(1), store.attempts(1)) == (set(), [])
    found = Submission(1, 4, "found", 2, SubmissionState.UNKNOWN, "", 0, "after the backup", 0.0, CREATED)
    found = found._replace(kind=Kind.RESTORED, facts={"k": 4})
    store.take_up(found, {2: (1, 3)})
    assert store.submission(1, 4) == found
    assert [(each.k, each.idx, each.n, each.attempt) for each in store.attempts(1)] == [(4, 2, 1, 3)]


# Facts, publications, and what follows in files


def test_facts_are_kept_and_replaced(store: Store, reader: Store) -> None:
    store.set_fact("seen", "now")
    store.set_fact("seen", "later")
    assert reader.fact("seen") == "later"


def test_what_is_published_is_replaced_by_name(store: Store) -> None:
    add(store)
    for content in ("<old/>", "<new/>"):
        store.publications.publish(1, 0, "name", content)
    store.publications.publish(1, 1, "name", "<other/>")
    assert [each[:3] for each in store.publications.details(1)] == [(0, "name", "<new/>"), (1, "name", "<other/>")]
    assert [each[2] for each in store.publications.details(1, 1)] == ["<other/>"]


def test_fulfilled_wishes_are_remembered_until_their_files_are_gone(store: Store) -> None:
    for name in ("a", "b", "c"):
        store.fulfil(name)
    store.wishes_are_gone(["a", "c", "never"])
    assert store.fulfilled() == {"b"}
    with pytest.raises(NotStorable):
        store.fulfil("b")


def test_changes_tell_that_something_was_stored(store: Store) -> None:
    add(store)
    before = store.changes()
    store.grid_jobs()
    assert store.changes() == before
    store.set_grid_job(1, wish="cancel")
    assert store.changes() > before


# All or nothing


def half(store: Store) -> None:
    store.set_grid_job(1, wish="cancel")
    with store.transaction():
        moved(store, State.WAITING, State.NEW, 0, attempt=0)
    raise ZeroDivisionError


def test_whatever_changes_a_grid_job_tells_that_it_has_changed(store: Store) -> None:
    add(store)
    add(store, 2)
    assert (store.changed(), store.changed()) == ({1, 2}, set())
    for change in (
        lambda: store.set_grid_job(1, priority=1),
        lambda: store.set_local_job(1, 0, wish="cancel"),
        lambda: store.intend(1, 1, "mark", store.local_jobs(1, WAITING, limit=2)),
        lambda: moved(store, State.SUBMITTING, State.SUBMITTED, 0),
        lambda: store.set_submission(1, 1, tries=1),
        lambda: store.set_attempt(1, 1, 1, host="node1"),
        lambda: store.end_waiting(1, WHY, 9),
        lambda: store.end_split(1, 3),
        lambda: store.forget_submission(1, 1),
        lambda: store.removals.remove(store.grid_job(1)),
    ):
        change()
        assert store.changed() == {1}, change


def test_finished_grid_jobs_are_read_in_parts(store: Store) -> None:
    for grid in (1, 2, 3):
        add(store, grid)
    for grid in (2, 3):
        store.set_grid_job(grid, step=Step.FINISHED, outcome="completed")
    assert [[each.id for each in store.finished(*some)] for some in ((0, 9), (0, 1), (2, 9))] == [[2, 3], [2], [3]]
    assert (store.any_grid_job(Step.SPLIT), store.any_grid_job(Step.ACTIVE, Step.COLLECTING)) == (True, False)


def test_a_transaction_is_all_or_nothing(store: Store, reader: Store) -> None:
    add(store)
    with pytest.raises(ZeroDivisionError), store.transaction():
        half(store)
    for each in (store, reader):
        assert (each.grid_job(1).wish, each.counts(1), each.state(1, 0)) == ("", {State.WAITING: 3}, State.WAITING)
    store.set_grid_job(1, wish="suspend")
    assert reader.grid_job(1).wish == "suspend", "the store goes on"


def test_a_part_fails_by_itself(store: Store, reader: Store) -> None:
    add(store)
    with store.transaction():
        store.note(1, "before", Witness.USER)
        with pytest.raises(ZeroDivisionError), store.part():
            half(store)
        with store.part():
            store.note(1, "after", Witness.USER)
    assert [line.now for line in reader.journals.of_itself(1, 2)] == ["before", "after"]
    assert (reader.grid_job(1).wish, reader.counts(1)) == ("", {State.WAITING: 3})


def test_readers_see_nothing_of_a_transaction_before_its_end(store: Store, reader: Store) -> None:
    add(store)
    with store.transaction():
        store.set_grid_job(1, wish="cancel")
        assert (store.grid_job(1).wish, reader.grid_job(1).wish) == ("cancel", "")
    assert reader.grid_job(1).wish == "cancel"


def test_a_snapshot_shows_one_moment(store: Store, reader: Store) -> None:
    add(store)
    with reader.snapshot():
        assert reader.state(1, 0) is State.WAITING
        store.set_local_job(1, 0, state=State.KILLED, witness=Witness.USER)
        assert (reader.state(1, 0), reader.counts(1)) == (State.WAITING, {State.WAITING: 3})
    assert reader.state(1, 0) is State.KILLED


def test_a_slow_reader_holds_up_nobody(store: Store, reader: Store) -> None:
    add(store)
    sent(store)
    store.note(1, "a line", Witness.USER)
    for slow in (reader.ended(1), reader.ended(1, records=False), reader.journals.in_parts(1, 10), reader.live()):
        next(slow)
    store.set_local_job(1, 0, state=State.KILLED, witness=Witness.USER)
    assert reader.state(1, 0) is State.KILLED


def test_a_reader_may_be_opened_for_another_thread_and_writes_nothing(store: Store) -> None:
    add(store)
    found: list[object] = []

    def look() -> None:
        with closing(store.reader()) as other:
            found.append(len(other.local_jobs(1)))
            with pytest.raises(StoreError):
                other.set_fact("seen", "now")

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert (found, store.fact("seen")) == ([3], "")


def test_a_kill_leaves_all_of_a_transaction_or_nothing(ground: Sqlite) -> None:
    code = f"import {die_halfway.__module__} as grounds; grounds.die_halfway({ground.name!r}, {str(ground.place)!r})"
    killed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    with closing(ground.open()) as store:
        assert ([job.id for job in store.grid_jobs()], store.grid_job(1).wish) == ([1], "")
        assert store.counts(1) == {State.WAITING: 3}
        store.set_grid_job(1, wish="cancel")
    with closing(ground.open(write=False)) as reader:
        assert reader.grid_job(1).wish == "cancel"


# What goes wrong


def test_a_store_that_is_locked_is_busy_and_goes_on_afterwards(ground: Sqlite, store: Store, reader: Store) -> None:
    add(store)
    ground.impatient(store)
    with ground.locked():
        with pytest.raises(Busy, match="locked by another program"):
            store.set_grid_job(1, wish="cancel")
        assert reader.grid_job(1).wish == "", "readers go on"
    store.set_grid_job(1, wish="cancel")
    assert reader.grid_job(1).wish == "cancel"


def test_a_full_disk_changes_nothing_and_is_got_over(ground: Sqlite, store: Store) -> None:
    add(store)
    with ground.full(store):
        for within in (nullcontext, store.part):
            with pytest.raises(DiskFull, match="disk is full"), store.transaction():
                publish_at_length(store, within)
            assert (store.grid_job(1).wish, list(store.publications.details(1))) == ("", [])
    store.set_grid_job(1, wish="cancel")
    assert store.grid_job(1).wish == "cancel"


def publish_at_length(store: Store, within: Callable[[], AbstractContextManager[None]]) -> None:
    store.set_grid_job(1, wish="cancel")
    with within():
        for n in range(1000):
            store.publications.publish(1, 0, f"name {n}", "long" * 1000)


def test_a_copy_is_the_store_as_it_is_at_one_moment(
    ground: Sqlite, store: Store, reader: Store, tmp_path: Path
) -> None:
    add(store)
    sent(store)
    (tmp_path / "copy").mkdir()
    with store.transaction():
        add(store, 2)
        reader.copy_to(file_of(tmp_path / "copy"))
    with closing(type(ground)(tmp_path / "copy").open(write=False)) as copy:
        assert copy.grid_jobs() == [store.grid_job(1)]
        assert copy.local_jobs(1) == store.local_jobs(1)
        assert copy.attempts(1) == store.attempts(1)


def test_what_makes_no_sense_is_damaged(ground: Sqlite) -> None:
    with closing(ground.open()) as store:
        add(store, size=500)
        assert store.look_for_damage(10.0)
        assert not store.look_for_damage(-1.0)
        assert store.grid_job(1).size == 500
    ground.damage()
    with (
        pytest.raises(Damaged, match=r"is damaged .*: end its keeper, and move the whole state directory away"),
        closing(ground.open(write=False)) as reader,
    ):
        reader.look_for_damage(10.0)


def test_what_is_out_of_reach_is_away(ground: Sqlite) -> None:
    ground.open().close()
    ground.take_away()
    with pytest.raises(Away, match="JIM cannot read or write"):
        ground.open()


def test_a_format_that_was_never_released_is_refused_and_told_who_can_upgrade_it(ground: Sqlite) -> None:
    ground.open().close()
    ground.write_as_format(13)
    for write in (True, False):
        with pytest.raises(JimError, match=r"format 13, .*no JIM was released.* commit [0-9a-f]{8} "):
            ground.open(write=write)


def test_a_format_of_the_future_is_refused(ground: Sqlite) -> None:
    ground.open().close()
    ground.write_as_format(1000)
    for write in (True, False):
        with pytest.raises(JimError, match="was written by a newer JIM"):
            ground.open(write=write)


def test_values_of_another_kind_are_refused_as_such(store: Store) -> None:
    add(store)
    for number in ([], 1 << 70, object()):
        with pytest.raises(NotStorable):
            store.add_grid_job(number, f"other {number}", "someone", CREATED, REQUEST)  # type: ignore[arg-type]
    assert [job.id for job in store.grid_jobs()] == [1]


def test_a_reason_may_hold_a_file_name_that_is_no_text(store: Store) -> None:
    add(store)
    store.set_grid_job(1, reason="/data/\udcff")
    store.note(1, "line", Witness.KEEPER, "/data/\udcff")
    assert (store.grid_job(1).reason, store.journals.of(1)[-1].reason) == ("/data/\\udcff",) * 2


# Times to come


def test_everything_is_made_due_but_what_is_held(store: Store) -> None:
    add(store)
    store.set_grid_job(1, due=5e9, tries=2)
    store.set_local_job(1, 0, due=5e9)
    store.set_local_job(1, 1, due=HELD)
    store.make_due()
    assert (store.grid_job(1).due, store.grid_job(1).tries) == (0.0, 2)
    assert [each.due for each in store.local_jobs(1)] == [0.0, HELD, 0.0]


@pytest.mark.parametrize("state", SubmissionState)
def test_looks_for_a_lost_submission_are_counted_anew_and_tries_of_an_intent_are_not(
    store: Store, state: SubmissionState
) -> None:
    """Between two looks some time must pass; how often a batch command could not be started stays known."""
    add(store)
    sent(store)
    store.set_submission(1, 1, state=state, tries=1, due=5e9)
    store.make_due()
    found = store.submission(1, 1)
    assert found
    looked_for = state in (
        *(SubmissionState.UNKNOWN, SubmissionState.FULL, SubmissionState.REFUSED, SubmissionState.CANCELLED),
    )
    assert (found.due, found.tries) == (0.0, 0 if looked_for else 1)


def test_a_row_has_its_values_by_name(store: Store) -> None:
    """Each column comes back as the field of its name: no two have the same value here."""
    add(store)
    sent(store)
    why = Reason(Kind.NOT_NOW, {"code": 1}, "why")
    store.set_submission(1, 1, batch_id="id", tries=7, reason=why, due=9.0, wall_seconds=11, trouble="away")
    found = store.submission(1, 1)
    assert found
    told = Submission(1, 1, "mark-1-1", 3, SubmissionState.CONFIRMED, "id", 7, "why", 9.0, found.updated, 11, "away")
    told = told._replace(kind=Kind.NOT_NOW, facts={"code": 1}, intended=found.intended, booted=found.booted)
    assert found == told
    assert found.intended[:10] == store.clock.utc()[:10]
    assert found.booted.startswith(f"{store.clock.boot_id()} ")
    store.set_attempt(1, 1, 1, host="h", started="s", record="r", verdict="v", reason=why, over="o", nonce="n")
    attempt = store.attempt(1, 1, 1)
    assert attempt
    fields = attempt.host, attempt.started, attempt.record, attempt.verdict, attempt.reason, attempt.over, attempt.nonce
    assert (fields, attempt.kind, attempt.facts) == (("h", "s", "r", "v", "why", "o", "n"), Kind.NOT_NOW, {"code": 1})
    store.set_grid_job(1, priority=5, why="so", events_per_job=4, outcome="killed")
    job = store.grid_job(1)
    assert (job.priority, job.why, job.events_per_job, job.outcome) == (5, "so", 4, "killed")
    assert job._replace(priority=0) != job

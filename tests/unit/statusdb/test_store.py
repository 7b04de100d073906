"""The store by itself: what a look costs, what is kept, and what a transaction promises."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jim.errors import UnknownJob
from jim.model import Piece, State, Step, Witness
from jim.statusdb.seen.record import failures
from jim.statusdb.store import Store
from tests.unit.statusdb.by_hand import REQUEST, add, move, send


def steps_of(store: Store, look: Callable[[], object]) -> int:
    """Count the steps of SQLite's machine that a look takes."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    store.db.set_progress_handler(count, 1)
    try:
        look()
    finally:
        store.db.set_progress_handler(None, 0)
    return steps


@pytest.mark.parametrize(
    "look",
    [
        lambda store, grid: store.local_jobs(grid, (State.WAITING,), limit=10, due=1.0),
        lambda store, grid: store.local_jobs(grid, (State.COMPLETING,)),
        lambda store, grid: store.wished(grid),
        lambda store, grid: store.counts(grid),
        lambda store, grid: store.attempts(grid, n=1),
        lambda store, grid: store.attempts(grid, k=1),
    ],
)
def test_what_the_keeper_looks_at_each_round_costs_the_same_for_any_number_of_local_jobs(
    store: Store, look: Callable[[Store, int], object]
) -> None:
    for grid, size in ((1, 5), (2, 1000)):
        add(store, grid, size)
        send(store, grid, 5)
        move(store, grid, State.SUBMITTING, State.COMPLETING, 2)
    few, many = (steps_of(store, lambda grid=grid: look(store, grid)) for grid in (1, 2))
    assert 0 < many <= few + 5


def test_reading_how_all_ended_costs_the_same_for_each(store: Store) -> None:
    for grid, size in ((1, 50), (2, 2500)):
        add(store, grid, size)
        send(store, grid, 10)
    store.set_attempt(2, 101, 10, record="last words")
    few, many = (steps_of(store, lambda grid=grid: list(store.ended(grid))) for grid in (1, 2))
    assert many / 2500 <= few / 50
    found = list(store.ended(2))
    assert [each.n for each in found] == list(range(2500))
    assert found[1009] == (1009, "submitting", 1, "", 101, 10, "last words")


def test_a_local_job_that_was_never_sent_ended_without_an_attempt(store: Store) -> None:
    add(store, 1, 1)
    assert list(store.ended(1)) == [(0, "waiting", 0, "", 0, 0, "")]


def test_each_state_s_local_jobs_are_found(store: Store) -> None:
    add(store, 1, 6)
    move(store, 1, State.WAITING, State.COMPLETING, 1, 4)
    move(store, 1, State.WAITING, State.FAILED, 2)
    store.set_local_job(1, 5, due=50.0)

    def numbers(*states: State, due: float = 1e9) -> list[int]:
        return [job.n for job in store.local_jobs(1, states, due=due)]

    assert numbers(State.WAITING) == [0, 3, 5]
    assert numbers(State.WAITING, due=49.0) == [0, 3]
    assert numbers(State.COMPLETING) == [1, 4]
    assert numbers(State.FAILED) == [2]
    assert numbers(State.FAILED, State.COMPLETING) == [1, 2, 4]
    assert [job.n for job in store.local_jobs(1)] == [0, 1, 2, 3, 4, 5]
    assert [job.n for job in store.local_jobs(1, limit=2)] == [0, 1]


def test_pieces_that_can_never_run_are_stored_as_failed_among_the_others(store: Store) -> None:
    store.add_grid_job(1, "key", "me", "", {"job_type": "executable"})
    store.add_pieces(
        1, 10, [Piece(1, 1), Piece(failure="no site"), Piece(2, 1), Piece(failure="no site"), Piece(failure="long")]
    )
    told = [(each.n, each.state.value, each.witness, each.reason) for each in store.local_jobs(1)]
    assert told == [
        (10, "waiting", "", ""),
        (11, "failed", "keeper", "failed on creation: no site"),
        (12, "waiting", "", ""),
        (13, "failed", "keeper", "failed on creation: no site"),
        (14, "failed", "keeper", "failed on creation: long"),
    ]


def test_the_tally_follows_every_change(store: Store) -> None:
    add(store, 1, 4)
    move(store, 1, State.WAITING, State.RUNNING, 0, 1)
    move(store, 1, State.SUBMITTED, State.RUNNING, 2)  # it is elsewhere
    store.set_local_job(1, 3, state=State.FAILED, witness=Witness.CLAIM)
    assert store.counts(1) == {State.RUNNING: 2, State.WAITING: 1, State.FAILED: 1}
    assert [store.state(1, n) for n in range(4)] == [State.RUNNING, State.RUNNING, State.WAITING, State.FAILED]
    assert [(line.n, line.was, line.now, line.witness) for line in store.journals.of(1)][-3:] == [
        (0, "waiting", "running", "queue"),
        (1, "waiting", "running", "queue"),
        (3, "waiting", "failed", "claim"),
    ]


def test_the_reasons_of_all_local_jobs_are_counted(store: Store) -> None:
    add(store, 1, 1300)
    assert failures(store, 1) == ""
    with store.transaction():
        for n in range(1299):
            state, reason = (State.KILLED, "cancelled") if n < 1050 else (State.FAILED, f"exit {n - 1000}")
            store.set_local_job(1, n, state=state, witness=Witness.QUEUE, reason=reason)
    assert failures(store, 1) == "cancelled (1,050), exit 50 (1), exit 51 (1), 247 more"


def test_a_request_is_read_from_the_disk_once(store: Store) -> None:
    add(store, 1, 1)
    said: list[str] = []
    store.db.set_trace_callback(said.append)
    for _ in range(3):
        assert store.grid_job(1).request == REQUEST
        assert [job.request for job in store.grid_jobs(Step.SPLIT)] == [REQUEST]
    assert sum("FROM request" in words for words in said) == 1
    store.set_grid_job(1, step=Step.FINISHED)
    assert store.grid_job(1).request == REQUEST
    assert store.grid_job(1).request == REQUEST


def test_what_is_forgotten_leaves_nothing(store: Store) -> None:
    add(store, 1, 3)
    store.note(1, "a line", Witness.USER)
    store.publications.publish(1, 0, "p", "<p/>")
    store.intend(1, 1, "mark", store.local_jobs(1))
    store.removals.remove(store.grid_job(1))
    with pytest.raises(UnknownJob):
        store.grid_job(1)
    tables = [name for (name,) in store.db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    assert "request" in tables
    left = {name: store.db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
    assert left == dict.fromkeys(tables, 0) | {"meta": 2, "removed": 1}, (
        "more is left than serial, version and its files"
    )

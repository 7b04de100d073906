"""What lists and pages count on, of whatever store there is: parts of it, by a key, in bounded time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jim.errors import TooLong
from jim.jobs import HELD, Change
from jim.model import Kind, Reason, State, Step, SubmissionState, Witness
from jim.statusdb.list_filters import GridJobsAsked, HostSeen, LocalJobsAsked, Minute
from jim.statusdb.store import Store
from tests.support.cli_home import SetClock
from tests.unit.statusdb.grounds import GROUNDS, REQUEST, Sqlite, add


class Clock(SetClock):
    """One hour after another."""

    def at(self, hour: int, minute: int = 0) -> None:
        self.wall = f"2026-01-31T{hour:02d}:{minute:02d}:00.000Z"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=GROUNDS)
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Sqlite:
    (tmp_path / "state").mkdir()
    return GROUNDS[request.param](tmp_path / "state")


@pytest.fixture
def store(ground: Sqlite, clock: Clock) -> Iterator[Store]:
    with closing(ground.open(clock=clock)) as made:
        yield made


def take(store: Store, number: int, job_type: str = "executable", owner: str = "alice", **more: object) -> None:
    created = f"2026-01-{number:02d}T12:00:00.000Z"
    store.add_grid_job(number, f"key-{number}", owner, created, {**REQUEST, "job_type": job_type, **more})


@pytest.fixture
def five(store: Store, clock: Clock) -> Store:
    """Five grid jobs, made on five days; the first ones were changed last."""
    for number, job_type, owner in (
        (1, "dzero_merge", "alice"),
        (2, "executable", "bob"),
        (3, "dzero_merge", "bob"),
        (4, "executable", "100%_sure"),
    ):
        take(store, number, job_type, owner)
    take(store, 5, "executable", "eve", splitter="EventBased")
    for hour, number in enumerate((5, 4, 3, 2, 1), 13):
        clock.at(hour)
        store.set_grid_job(number, reason=f"reason {number}")
    store.set_grid_job(1, step=Step.FINISHED, outcome="completed")
    store.set_grid_job(2, step=Step.FINISHED, outcome="failed", reason="2 of 3 local jobs failed: Disk full")
    return store


def ids(store: Store, **asked: object) -> list[int]:
    wanted = GridJobsAsked(**asked)  # type: ignore[arg-type]
    found = [job.id for job in store.seen.grid_jobs_page(wanted, 100)]
    assert store.seen.count_grid_jobs(wanted._replace(after=None), 100) == len(found) or wanted.after
    return found


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, [5, 4, 3, 2, 1]),
        ({"steps": ("accepted",)}, [5, 4, 3]),
        ({"types": ("dzero_merge",)}, [3, 1]),
        ({"types": ("dzero_merge", "executable"), "owners": ("bob",)}, [3, 2]),
        ({"herds": ("single",)}, [4, 3, 2, 1]),
        ({"herds": ("will split", "split")}, [5]),
        ({"outcomes": ("failed",)}, [2]),
        ({"outcomes": ("failed", "completed"), "also": (4,)}, [4, 2, 1]),
        ({"outcomes": ()}, []),
        ({"words": ("disk",)}, [2]),
        ({"words": ("disk", "bob")}, [2]),
        ({"words": ("disk", "alice")}, []),
        ({"words": ("%",)}, [4]),
        ({"words": ("_sure",)}, [4]),
        ({"words": ("key-3",)}, [3]),
        ({"words": ("3",)}, [3, 2]),  # its number, and "2 of 3"
        ({"since": "2026-01-04"}, [5, 4]),
        ({"until": "2026-01-02T12:00:00.000Z"}, [1]),
        ({"after": ("", 4)}, [3, 2, 1]),
        ({"changed": True}, [2, 1, 3, 4, 5]),
        ({"changed": True, "after": ("2026-01-31T17:00:00.000Z", 1)}, [3, 4, 5]),
        ({"failed": True}, []),
    ],
)
def test_grid_jobs_that_fit_are_given_newest_first(five: Store, asked: dict[str, object], found: list[int]) -> None:
    assert ids(five, **asked) == found


def test_a_page_of_grid_jobs_has_no_requests_and_ends(five: Store) -> None:
    first = five.seen.grid_jobs_page(GridJobsAsked(), 2)
    assert [(job.id, job.request) for job in first] == [(5, {}), (4, {})]
    assert five.seen.count_grid_jobs(GridJobsAsked(), 3) == 4, "one more than was asked for, and not all"
    assert five.grid_job(5).request["splitter"] == "EventBased", "the one that was read before is not forgotten"


def test_choices_are_those_that_there_are(five: Store) -> None:
    assert five.seen.choices(10) == (["dzero_merge", "executable"], ["100%_sure", "alice", "bob", "eve"])
    assert len(five.seen.choices(2)[1]) == 2


# Local jobs


@pytest.fixture
def moving(store: Store, clock: Clock) -> Store:
    """Grid job 1: 0 completed on wn1, 1 failed on wn1 and runs on wn2, 2 failed on wn1, 3 is held by JIM, 4 waits."""
    clock.at(10)
    add(store, 1, 5)
    store.intend(1, 1, "mark-1-1", [store.local_job(1, n) for n in (0, 1, 2)])
    store.set_submission(1, 1, state=SubmissionState.CONFIRMED, batch_id="4711")
    clock.at(11)
    for n, idx in ((0, 1), (1, 2), (2, 3)):
        verdict = "completed" if n == 0 else "failed" if n == 2 else "again"
        told = {"host": "wn1", "started": "2026-01-31T10:05:00Z", "verdict": verdict, "record": f"record {n}"}
        store.set_attempt(1, 1, idx, **told)
    store.set_local_job(1, 0, state=State.COMPLETED, witness=Witness.EXIT_RECORD)
    segv = Reason(Kind.EXIT, {"code": 139}, "exit 139 on [wn1]?")
    store.set_local_job(1, 2, state=State.FAILED, witness=Witness.EXIT_RECORD, reason=segv)
    store.set_local_job(1, 1, state=State.WAITING)
    store.intend(1, 2, "mark-1-2", [store.local_job(1, 1)])
    store.change([Change(1, 2, State.SUBMITTING, State.RUNNING, Witness.CLAIM, (1,))])
    store.set_attempt(1, 2, 1, host="wn2", started="2026-01-31T11:00:30Z")
    store.set_local_job(1, 3, due=HELD, reason="held: 100%")
    store.publications.publish(1, 1, "generate", '<phase name="generate" done="1" total="2" unit="events"/>')
    store.publications.publish(1, 0, "generated", '<phase name="generated" done="2" total="2" unit="events"/>')
    return store


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"after": 1}, [2, 3, 4]),
        ({"states": (State.FAILED, State.RUNNING)}, [1, 2]),
        ({"states": (State.UNKNOWN,)}, []),
        ({"hosts": ("wn1",)}, [0, 1, 2]),
        ({"hosts": ("wn2", "wn3")}, [1]),
        ({"attempts": (2,)}, [1]),
        ({"attempts": (0,)}, [3, 4]),
        ({"held": True}, [3]),
        ({"held": False}, [4]),
        ({"reasons": ("exit 139 on [wn1]?",)}, [2]),
        ({"reasons": ("exit *",)}, [2]),
        ({"reasons": ("exit ?*",)}, []),
        ({"reasons": ("held: 100%", "exit*")}, [2, 3]),
        ({"phases": ("generate",)}, [1]),
        ({"submissions": (1,)}, [0, 2]),
        ({"numbers": ((0, 1), (4, 9))}, [0, 1, 4]),
        ({"numbers": ((0, 3),), "states": (State.WAITING,)}, [3]),
    ],
)
def test_local_jobs_that_fit_are_given_in_order(moving: Store, asked: dict[str, object], found: list[int]) -> None:
    wanted = LocalJobsAsked(**asked)  # type: ignore[arg-type]
    assert [each.n for each in moving.seen.local_jobs_page(1, wanted, 100)] == found
    if wanted.after < 0:
        assert moving.seen.count_local_jobs(1, wanted, 100) == len(found)
        assert [n for n, _ in moving.seen.states(1, wanted)] == found
    assert [each.n for each in moving.seen.local_jobs_page(1, wanted, 1)] == found[:1]


def test_a_local_job_is_seen_with_where_its_latest_attempt_ran(moving: Store) -> None:
    seen = moving.seen.local_jobs_page(1, LocalJobsAsked(), 100)
    assert [(each.host, each.started, each.attempt, each.submission) for each in seen] == [
        ("wn1", "2026-01-31T10:05:00Z", 1, 1),
        ("wn2", "2026-01-31T11:00:30Z", 2, 2),
        ("wn1", "2026-01-31T10:05:00Z", 1, 1),
        ("", "", 0, None),
        ("", "", 0, None),
    ]
    assert [each.held for each in seen] == [False, False, False, True, False]
    assert (seen[2].kind, seen[2].reason, seen[2].witness) == (Kind.EXIT, "exit 139 on [wn1]?", "exit record")
    assert seen[1].updated == "2026-01-31T11:00:00.000Z"


def test_local_jobs_are_counted_by_blocks(moving: Store) -> None:
    assert sorted(moving.seen.blocks(1, 2), key=str) == [
        (0, State.COMPLETED, 1),
        (0, State.RUNNING, 1),
        (1, State.FAILED, 1),
        (1, State.WAITING, 1),
        (2, State.WAITING, 1),
    ]
    assert moving.seen.tallies([1, 2]) == {1: moving.counts(1)}
    assert moving.seen.tallies([]) == {}


def test_hosts_with_the_most_failures_come_first(moving: Store) -> None:
    assert moving.seen.hosts(1, 10) == [
        HostSeen("wn1", 3, 2, "2026-01-31T11:00:00.000Z"),
        HostSeen("wn2", 1, 0, ""),
    ]
    assert moving.seen.hosts(1, 1) == moving.seen.hosts(1, 10)[:1]


def test_what_happened_is_counted_by_minute(moving: Store, clock: Clock) -> None:
    assert moving.seen.minutes(1) == [
        Minute("2026-01-31T11:00", "completed", 1),
        Minute("2026-01-31T11:00", "failed", 1),
        Minute("2026-01-31T10:05", "started", 3),
        Minute("2026-01-31T11:00", "started", 1),
    ]
    lately = [
        Minute("2026-01-31T10:05", "started", 3),
        Minute("2026-01-31T11:00", "completed", 1),
        Minute("2026-01-31T11:00", "failed", 1),
        Minute("2026-01-31T11:00", "started", 1),
    ]
    assert moving.seen.lately("2026-01-31T10:05:59Z") == lately
    assert moving.seen.lately("2026-01-31T10:06:00Z") == lately[1:]


def test_exit_records_of_completed_attempts_alone_are_given(moving: Store) -> None:
    assert moving.seen.records_of_completed(1, 10) == [("record 0", "")]
    assert moving.seen.records_of_completed(1, 0) == []


def test_exit_records_of_all_attempts_come_with_their_local_jobs(moving: Store) -> None:
    assert (0, 1, "record 0") in [*moving.seen.records_of_all(1)]
    assert [*moving.seen.records_of_all(9)] == []


def test_a_batch_id_a_mark_and_a_host_lead_to_what_they_name(moving: Store) -> None:
    assert moving.seen.carried_by("4711") == moving.seen.carried_by("mark-1-1") == [(1, 1)]
    assert moving.seen.carried_by("mark-1-2") == [(1, 2)]
    assert moving.seen.carried_by("471") == []
    assert (moving.seen.ran_on("wn2", 5), moving.seen.ran_on("wn3", 5)) == ([1], [])


def test_phases_are_added_up_over_local_jobs(moving: Store) -> None:
    moving.publications.publish(1, 2, "generate", '<phase name="generate" done="5" total="6" unit="events"/>')
    assert [each[:5] for each in moving.publications.phases(1)] == [
        ("generated", "events", 2, 2, 1),
        ("generate", "events", 6, 8, 2),
    ]
    assert [each[:5] for each in moving.publications.phases_of(1, 2)] == [("generate", "events", 5, 6, 1)]


def test_a_look_that_takes_too_long_is_given_up(store: Store) -> None:
    store.add_grid_job(1, "key", "someone", "2026-01-31T11:00:00.000Z", REQUEST)
    for first in range(0, 20_000, 5_000):
        from jim.model import Piece

        store.add_pieces(1, first, [Piece()] * 5_000)
    with pytest.raises(TooLong, match="more than 0 s"), store.seen.at_most(0):
        store.seen.count_local_jobs(1, LocalJobsAsked(reasons=("*x*",)), 100)
    assert store.seen.count_local_jobs(1, LocalJobsAsked(), 100) == 101, "and the next one is not"

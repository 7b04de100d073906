"""What people have asked of grid jobs, found in the journal by time."""

import pytest

from jim.clock import Clock
from jim.model import Piece, State, Step, Witness
from jim.statusdb.store import Store


class SetClock(Clock):
    minute = 0

    def utc(self):
        return f"2026-01-31T12:{self.minute:02d}:00.000Z"


@pytest.fixture
def store(tmp_path):
    """In each minute something is asked, and much else happens."""
    clock = SetClock()
    store = Store(tmp_path / "status.db", clock, write=True)
    for number in (1, 2, 3):
        clock.minute = number * 10
        store.add_grid_job(number, f"k{number}", "mc", clock.utc(), {"job_type": "executable"}, by=f"mc, way {number}")
        store.set_grid_job(number, step=Step.RESOLVED)
        store.add_pieces(number, 0, [Piece()] * 5)
        store.end_split(number, 5)
        for n in range(5):
            clock.minute += 1
            store.set_local_job(number, n, state=State.KILLED, witness=Witness.USER, reason="cancelled")
            store.note(number, "cancel requested", Witness.USER, f"ann, {n}", n)
            store.note(number, "cancel changes nothing", Witness.KEEPER, "it has ended", n)
    yield store
    store.close()


def told(store, since):
    return [(line.at[14:16], line.grid, line.n, line.now, line.reason) for line in store.journals.requested(since)]


def test_submissions_and_requests_are_found_with_who_asked(store):
    found = told(store, "")
    assert len(found) == 18
    assert found[:2] == [("10", 1, None, "accepted", "mc, way 1"), ("11", 1, 0, "cancel requested", "ann, 0")]
    assert {each[3] for each in found} == {"accepted", "cancel requested"}


@pytest.mark.parametrize("minute", range(60))
def test_what_was_before_a_time_is_left_out(store, minute):
    whole = told(store, "")
    assert told(store, f"2026-01-31T12:{minute:02d}:00.000Z") == [each for each in whole if int(each[0]) >= minute]


def test_only_lines_since_then_are_read(store):
    """The search looks at few lines, and the rest is not read."""
    last = store.seen.journal_end()
    assert store.journals._first_since("2026-01-31T12:35:00.000Z") > last - 6
    assert store.journals._first_since("2099") == last + 1


def test_an_empty_journal_has_nothing(tmp_path):
    store = Store(tmp_path / "status.db", Clock(), write=True)
    assert told(store, "2026") == []
    store.close()

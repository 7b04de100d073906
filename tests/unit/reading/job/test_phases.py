"""The progress that payloads publish."""

import pytest

from jim.model import Piece, State, Witness
from jim.reading.job.phases import Phase, phases
from jim.reading.view import look
from tests.support.cli_home import PHASE


@pytest.fixture
def four(home):
    """A grid job of four local jobs with 250 events each, of which two are sent."""
    home.store.add_grid_job(5, "five", "me", home.store.clock.utc(), {"job_type": "executable"})
    home.store.add_pieces(5, 0, [Piece(1 + 250 * n, 250) for n in range(4)])
    home.store.end_split(5, 4)
    return home


def send(store, grid, k, numbers):
    store.intend(grid, k, f"mark-{grid}-{k}", [store.local_job(grid, n) for n in numbers])


def told(home, n=None):
    view = look()
    return [each._replace(updated="") for each in phases(view, view.grid_job(5), n)]


def test_a_retried_local_job_counts_nothing_of_its_old_attempt(four):
    store = four.store
    send(store, 5, 1, [0, 1])
    for n in (0, 1):
        store.publications.publish(5, n, "phase-sim", PHASE.format("sim", 100 + n, 250, "events"), 1)
    assert told(four) == [Phase("sim", 201, 500, "events", 2, not_begun=2, planned=1000)]
    store.set_local_job(5, 1, state=State.WAITING, witness=Witness.KEEPER, reason="again")
    assert told(four)[0][:5] == ("sim", 100, 250, "events", 1), "it waits for another attempt"
    send(store, 5, 2, [1])
    assert told(four)[0][:5] == ("sim", 100, 250, "events", 1)
    assert told(four, 1) == [Phase("sim", 101, 250, "events", 1, attempt=1)], "it is kept with its attempt"
    store.publications.publish(5, 1, "phase-sim", PHASE.format("sim", 3, 250, "events"), 2)
    assert told(four)[0][:5] == ("sim", 103, 500, "events", 2)


def test_what_has_not_begun_is_told_and_what_is_planned(four):
    send(four.store, 5, 1, [0])
    four.store.publications.publish(5, 0, "phase-gen", PHASE.format("gen", 1, 1, "files"), 1)
    (phase,) = told(four)
    assert (phase.words(), phase.beside()) == ("gen 1 of 1 files", "3 have not begun")
    four.store.publications.publish(5, 0, "phase-sim", PHASE.format("sim", 0, 250, "events"), 1)
    assert told(four)[1].beside() == "3 have not begun (1,000 events planned in all)"


def test_once_all_have_begun_the_total_says_it(four):
    send(four.store, 5, 1, [0, 1, 2, 3])
    for n in range(4):
        four.store.publications.publish(5, n, "phase-sim", PHASE.format("sim", 0, 250, "events"), 1)
    assert told(four) == [Phase("sim", 0, 1000, "events", 4)]
    assert told(four)[0].beside() == ""


def test_a_phase_of_the_grid_job_itself_is_told_beside(four):
    four.store.publications.publish(5, -1, "phase-merged", PHASE.format("merged", 3, 10, "files"))
    assert told(four) == [Phase("merged", 3, 10, "files", 0)]


@pytest.mark.parametrize(
    "odd",
    [
        PHASE.format("odd", "x", 250, "events"),
        PHASE.format("odd", "²", 250, "events"),
        PHASE.format("odd", 10**15, 250, "events"),
        '<x:other xmlns:x="urn:x"><phase name="a" done="1" total="2" unit="events"/></x:other>',
        "<phase/>",
    ],
)
def test_what_is_no_phase_counts_nowhere(four, odd):
    send(four.store, 5, 1, [0])
    four.store.publications.publish(5, 0, "odd", odd, 1)
    assert told(four) == []


def test_attributes_may_have_any_order(four):
    send(four.store, 5, 1, [0])
    four.store.publications.publish(5, 0, "x", '<phase total="250" unit="events" done="7" name="sim"/>', 1)
    assert told(four)[0][:4] == ("sim", 7, 250, "events")

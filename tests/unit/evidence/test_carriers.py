"""What a listing says of carriers, said of the local jobs that they run or could."""

from __future__ import annotations

import pytest

from jim.evidence.carriers import Carried, batch_jobs, end_of
from jim.evidence.listing import compare
from jim.evidence.queue_words import grouped
from jim.jobs import Live
from jim.model import Kind, Listing, Observation, State

NAME = "jim-ab-1-2"
PENDING, RUNNING = Observation(State.SUBMITTED, NAME), Observation(State.RUNNING, NAME)
HELD, STOPPED = Observation(State.HELD, NAME), Observation(State.SUSPENDED, NAME)
ENDED = Observation(State.COMPLETED, NAME, code=0)
KILLED = Observation(State.FAILED, NAME, reason="time limit", kind=Kind.TIME_LIMIT)


def live(idx: int, carrier: int = 0, *, state: State = State.SUBMITTED, carriers: int = 3) -> Live:
    started = bool(carrier)
    return Live(1, 2, idx, idx - 1, 1, state, started, NAME, "7", True, "", Kind.UNKNOWN, carrier, carriers)


def listing(*seen: Observation | None) -> Listing:
    return {("7", index): each for index, each in enumerate(seen, 1) if each}


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ((PENDING, RUNNING, ENDED), State.SUBMITTED),  # it waits for the one that runs
        ((None, STOPPED, None), State.SUBMITTED),
        ((HELD, PENDING, HELD), State.SUBMITTED),
        ((HELD, None, HELD), State.HELD),
        ((None, None, ENDED._replace(stays=True)), State.COMPLETED),
        ((None, None, None), None),
        ((Observation(State.RUNNING, "another"), None, None), None),  # the batch id is another's now
    ],
)
def test_what_no_carrier_has_claimed_waits_for_any(seen: tuple[Observation, ...], said: State | None) -> None:
    found = Carried(listing(*seen), 60).of(live(5))
    assert (found and found.state) is said


def test_what_a_carrier_has_claimed_is_where_that_is() -> None:
    """Local job 1 is run by carrier 3: that batch job 1 has ended says nothing of it."""
    shown = listing(ENDED, PENDING, RUNNING)
    assert Carried(shown, 60).of(live(1, 3)) == RUNNING
    assert Carried(shown, 60).of(live(3, 1)) == ENDED
    compared = compare(shown, [live(1, 3, state=State.RUNNING), live(3, 1, state=State.RUNNING), live(2)])
    assert compared.missing.keys() == {(1, 2, 3)}
    assert not compared.back


def test_what_started_in_a_carrier_that_is_put_back_may_be_dead() -> None:
    compared = compare(listing(PENDING, RUNNING, RUNNING), [live(9, 1, state=State.RUNNING)])
    assert compared.back == compared.missing.keys() == {(1, 2, 9)}


def test_only_where_all_carriers_can_never_start_its_local_jobs_wait_in_vain() -> None:
    never = PENDING._replace(reason="BadConstraints")
    assert compare(listing(never, never, never), [live(5)]).in_vain == {(1, 2, 5): "BadConstraints"}
    assert compare(listing(never, RUNNING, never), [live(5)]).in_vain == {}
    assert compare(listing(never, PENDING, never), [live(5)]).in_vain == {}


def test_why_carriers_wait_is_told_of_what_they_are_to_run() -> None:
    waits = PENDING._replace(waits="Resources")
    assert grouped(listing(waits, waits, waits), [live(1), live(5)], 60) == {(1, 2, "submitted", "Resources"): 2}
    assert grouped(listing(waits, RUNNING, waits), [live(1)], 60) == {}


def test_the_end_of_a_carrier_is_that_of_what_it_had_claimed() -> None:
    ended = {("7", 1): ENDED, ("7", 2): KILLED}
    assert end_of(live(2, 1), ended, 60) == ENDED
    assert end_of(live(1, 3), ended, 60) is None
    assert end_of(live(1, 1)._replace(mark="another"), ended, 60) is None


def test_what_nobody_has_claimed_has_an_end_only_if_no_carrier_goes_on() -> None:
    assert end_of(live(1), {("7", 1): ENDED, ("7", 2): KILLED}, 60) is None
    found = end_of(live(1), {("7", 1): ENDED, ("7", 2): KILLED, ("7", 3): ENDED}, 60)
    assert found == KILLED._replace(kind=Kind.ACCOUNTING)


def test_a_limit_of_a_carrier_blames_none_that_it_ran() -> None:
    """Its time was for all of them, and each is held to its own by its wrapper."""
    seen = end_of(live(2, 2), {("7", 2): KILLED}, 60)
    assert seen is not None
    assert (seen.kind, seen.reason) == (Kind.ACCOUNTING, "time limit")


def test_an_attempt_without_carriers_is_a_batch_job_of_its_own() -> None:
    own = live(2, carriers=0)
    assert Carried(listing(ENDED, RUNNING), 60).of(own) == RUNNING
    assert end_of(own, {("7", 2): KILLED}, 60) == KILLED


def test_all_carriers_of_what_lives_may_be_needed() -> None:
    """Else carrier 3 would be cancelled because local job 3 has ended."""
    own = live(4, carriers=0)._replace(batch_id="9")
    assert batch_jobs([live(1), live(7, 2), own]) == {("7", 1), ("7", 2), ("7", 3), ("9", 4)}

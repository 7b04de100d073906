"""A grid job is looked at once for all its changes, at its own time, or when what it waits for has come."""

import pytest

from jim.keeper.looks import LISTING, SPARE_THREAD, THREAD, Looks
from jim.keeper.workers import NEVER
from tests.support.stand_ins import StandInClock


@pytest.fixture
def clock():
    return StandInClock()


@pytest.fixture
def looks(clock):
    return Looks(clock)


def test_changes_are_looked_at_in_order_and_each_grid_job_once(looks):
    looks.add([3, 1])
    looks.add([2, 3])
    assert (looks.soonest(), list(looks.take())) == (0.0, [3, 1, 2])


def test_a_grid_job_stays_until_it_was_looked_at(looks):
    looks.add([1, 2])
    assert list(looks.take()) == [1, 2]
    looks.looked(1, NEVER)
    assert list(looks.take()) == [2]
    looks.looked(2, NEVER)
    assert (looks.soonest(), list(looks.take())) == (NEVER, [])


def test_the_last_time_that_a_look_has_named_counts_and_no_earlier_one(looks, clock):
    looks.looked(1, clock.now + 10.0)
    looks.looked(1, clock.now + 20.0)
    clock.now += 10.0
    assert list(looks.take()) == []
    clock.now += 10.0
    assert list(looks.take()) == [1]


def test_a_look_that_names_no_time_takes_back_the_one_before(looks, clock):
    looks.looked(1, clock.now + 10.0)
    looks.looked(1, NEVER)
    clock.now += 11.0
    assert list(looks.take()) == []


def test_an_event_wakes_all_that_wait_for_it_and_no_others(looks):
    assert [looks.wait_for(LISTING, 1), looks.wait_for(THREAD, 2), looks.wait_for(LISTING, 3)] == [NEVER] * 3
    looks.wake(LISTING)
    assert list(looks.take()) == [1, 3]
    for grid in (1, 3):
        looks.looked(grid, NEVER)
    looks.wake(LISTING)
    assert list(looks.take()) == []


def test_a_free_thread_is_for_the_one_that_waits_longest_and_the_others_wait_on(looks):
    for grid in (5, 4, 6):
        looks.wait_for(SPARE_THREAD, grid)
    assert next(looks.take_waiting(SPARE_THREAD)) == 5
    assert list(looks.take()) == [5]
    assert list(looks.take_waiting(SPARE_THREAD)) == [4, 6]

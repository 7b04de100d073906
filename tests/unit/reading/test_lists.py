"""Filters of lists become what the store is asked for, and states stand in one order everywhere."""

import pytest

from jim.errors import BadRequest
from jim.model import State
from jim.reading.filters import Filters
from jim.reading.lists import IN_ORDER, LOCAL_JOBS, asked_of, counted, first_word, is_narrowed


def asked(*given):
    return asked_of(Filters(LOCAL_JOBS, given))


def test_every_state_of_a_local_job_has_its_place():
    assert sorted(IN_ORDER, key=str) == sorted(set(State) - {State.UNKNOWN}, key=str)
    assert counted({State.FAILED: 2, State.COMPLETED: 1, State.RUNNING: 0}) == [(State.COMPLETED, 1), (State.FAILED, 2)]


def test_ranges_of_numbers_include_both_ends():
    assert asked(("n", "1-4,7")).numbers == ((1, 4), (7, 7))
    with pytest.raises(BadRequest, match="the first number of a range is the smaller one"):
        asked(("n", "4-1"))


def test_a_state_that_does_not_wait_for_this_leaves_nothing_rather_than_everything():
    assert asked(("wait", "person"), ("state", "completed")).states == (State.UNKNOWN,)


@pytest.mark.parametrize(("wait", "held"), [("person", True), ("keeper", False), ("queue", None)])
def test_jim_holds_what_waits_for_a_person(wait, held):
    assert asked(("wait", wait)).held is held


def test_a_place_in_the_list_narrows_nothing():
    assert not is_narrowed(Filters(LOCAL_JOBS, (("after", "7"), ("limit", "5"))))
    assert is_narrowed(Filters(LOCAL_JOBS, (("after", "7"), ("state", "failed"))))


@pytest.mark.parametrize(("text", "word"), [(" 4711 ", "4711"), ("two words", ""), ("", "")])
def test_only_a_single_word_may_be_a_batch_job_or_a_host(text, word):
    assert first_word(text) == word

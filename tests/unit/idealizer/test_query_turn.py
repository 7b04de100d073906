"""Several accounts of a site, one question per interval."""

from __future__ import annotations

import os
import time

import pytest

from jim.idealizer.query_turn import take_turn


@pytest.fixture
def turns(tmp_path):
    for name in "abc":
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1, 1))
    return tmp_path


def test_who_comes_within_the_interval_waits(turns):
    waited_for = {}
    assert take_turn(turns / "a", 60.0, 0.0, {})
    assert not take_turn(turns / "b", 60.0, 0.2, waited_for)
    os.utime(turns / "a", (time.time() - 61,) * 2)
    assert take_turn(turns / "b", 60.0, 0.4, waited_for)
    assert waited_for == {}
    assert not take_turn(turns / "c", 60.0, 0.4, {})


def test_an_account_that_touches_its_file_all_the_time_makes_others_wait_once_per_question(turns):
    """Anyone may touch what is theirs: of 120 s without an answer, one interval is left."""
    waited_for, began = {}, time.time()
    for question in range(3):
        os.utime(turns / "a")
        assert not take_turn(turns / "b", 0.3, 0.0, waited_for), question
        while not take_turn(turns / "b", 0.3, 0.0, waited_for):
            os.utime(turns / "a")
            assert time.time() - began < 0.3 * (question + 1) + 5
    assert time.time() - began < 0.9


def test_we_wait_for_each_of_several(turns):
    waited_for = {}
    os.utime(turns / "a")
    assert not take_turn(turns / "c", 60.0, 0.0, waited_for)
    os.utime(turns / "b")
    os.utime(turns / "a", (time.time() - 50,) * 2)  # another one of its questions
    assert not take_turn(turns / "c", 60.0, 0.0, waited_for)
    os.utime(turns / "b", (time.time() - 61,) * 2)
    assert take_turn(turns / "c", 60.0, 0.0, waited_for)


def test_nobody_waits_for_ever(turns):
    os.utime(turns / "a")
    assert not take_turn(turns / "b", 1.0, 60.0, {})
    assert take_turn(turns / "b", 1.0, 61.0, {})


def test_a_time_ahead_is_no_reason_to_wait(turns):
    os.utime(turns / "a", (time.time() + 3600,) * 2)
    assert take_turn(turns / "b", 60.0, 0.0, {})


def test_one_account_alone_takes_no_turns(tmp_path):
    assert take_turn(None, 60.0, 0.0, {})
    assert take_turn(tmp_path / "never made", 60.0, 0.0, {})
    assert take_turn(tmp_path / "nowhere/never made", 60.0, 0.0, {})

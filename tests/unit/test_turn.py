"""Several accounts of a site, one question per interval."""

from __future__ import annotations

import fcntl
import os
import time

import pytest

from jim.idealizer.turn import take_turn


@pytest.fixture
def turn(tmp_path):
    file = tmp_path / "turn"
    file.touch()
    os.utime(file, (1, 1))
    return file


def test_who_comes_within_the_interval_waits(turn):
    assert take_turn(turn, 60.0, 0.0)
    assert not take_turn(turn, 60.0, 0.2)
    os.utime(turn, (time.time() - 61,) * 2)
    assert take_turn(turn, 60.0, 0.4)


def test_who_comes_while_another_looks_waits(turn):
    with turn.open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert not take_turn(turn, 1.0, 0.0)


def test_nobody_waits_for_ever(turn):
    with turn.open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert take_turn(turn, 1.0, 61.0)


def test_a_time_ahead_is_no_reason_to_wait(turn):
    os.utime(turn, (time.time() + 3600,) * 2)
    assert take_turn(turn, 60.0, 0.0)


def test_one_account_alone_takes_no_turns(tmp_path):
    assert take_turn(None, 60.0, 0.0)
    assert take_turn(tmp_path / "never made", 60.0, 0.0)

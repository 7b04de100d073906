"""Doors call the keeper: a call is heard at once, and one that nobody hears does no harm."""

import queue
import threading
import time

import pytest

from jim.clock import Clock
from jim.keeper import loop
from jim.keeper.bell import Bell
from jim.keeper.waking import BELL, ring


@pytest.fixture
def heard():
    return queue.SimpleQueue()


@pytest.mark.parametrize("name", ["state", "a" * 200])
def test_a_call_is_heard_however_long_the_name_of_the_state_directory_is(tmp_path, heard, name):
    state = tmp_path / name
    state.mkdir()
    (state / BELL).write_text("left by a keeper that was killed")
    bell = Bell(state, lambda: heard.put(True))
    try:
        for _ in range(3):
            ring(state)
            assert heard.get(timeout=20)
    finally:
        bell.close()
    assert list(state.iterdir()) == []


def test_a_keeper_does_without_a_bell_that_cannot_be_hung(tmp_path, heard):
    (tmp_path / BELL).mkdir()
    bell = Bell(tmp_path, lambda: heard.put(True))
    assert not bell.hangs
    bell.close()


class Resting:
    """Work that has nothing to do for an hour, and ends with the second round."""

    def __init__(self, state, monkeypatch):
        self.state, self.calls, self.rested = state, threading.Event(), []

    def round(self):
        if self.rested:
            (self.state / "keeper.lock").unlink()

    def rest(self):
        return 3600.0

    def deliver(self, timeout):
        if timeout:
            self.rested.append(timeout)
            ring(self.state)
            return self.calls.wait(timeout)
        return False

    def wake(self):
        self.calls.set()

    def idle(self):
        return False

    def close(self):
        pass


def test_a_keeper_that_rests_is_called(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "LONGEST_REST", 60.0)
    work, began = Resting(tmp_path, monkeypatch), time.monotonic()
    assert loop.keep(tmp_path, Clock(), 60, lambda: work)
    assert work.rested == [60.0, 60.0]
    assert time.monotonic() - began < 30


def test_a_keeper_without_a_bell_rests_for_a_moment_only(tmp_path, monkeypatch):
    (tmp_path / BELL).mkdir()
    work = Resting(tmp_path, monkeypatch)
    assert loop.keep(tmp_path, Clock(), 60, lambda: work)
    assert work.rested == [0.2, 0.2]

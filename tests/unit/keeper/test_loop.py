import errno
import logging
import os

import pytest

from jim.clock import Clock
from jim.keeper.loop import keep


class FullDisk:
    """Work whose workers come back with results that cannot be stored; it ends with its state directory."""

    def __init__(self, state, rounds, results):
        self.state, self.rounds, self.results = state, rounds, results
        self.left, self.lost = 0, 0

    def round(self):
        self.left = self.results
        self.rounds -= 1
        if not self.rounds:
            (self.state / "keeper.lock").unlink()

    def rest(self):
        return 0.0

    def deliver(self, timeout):
        if not self.left:
            return False
        self.left -= 1
        self.lost += 1
        raise OSError(28, "No space left on device")

    def wake(self):
        pass

    def idle(self):
        return False

    def close(self):
        pass


@pytest.fixture
def pauses(monkeypatch):
    found = []
    monkeypatch.setattr("jim.keeper.loop.time.sleep", found.append)
    return found


def test_results_that_cannot_be_stored_are_not_made_anew_without_a_pause(tmp_path, pauses):
    assert keep(tmp_path, Clock(), 60, lambda: FullDisk(tmp_path, rounds=5, results=1))
    assert pauses == [0.4, 0.8, 1.6, 2.0, 2.0]


def test_one_pause_is_for_all_results_of_a_round(tmp_path, pauses):
    work = FullDisk(tmp_path, rounds=2, results=3)
    assert keep(tmp_path, Clock(), 60, lambda: work)
    assert (work.lost, pauses) == (6, [0.4, 0.8])


def test_what_is_stored_costs_no_pause(tmp_path, pauses):
    assert keep(tmp_path, Clock(), 60, lambda: FullDisk(tmp_path, rounds=3, results=0))
    assert pauses == []


class Nothing(FullDisk):
    def idle(self):
        return True


def test_its_log_tells_when_a_keeper_began_and_why_it_ended(tmp_path, caplog):
    (tmp_path / "inbox").mkdir()
    with caplog.at_level(logging.INFO):
        assert keep(tmp_path, Clock(), 0, lambda: Nothing(tmp_path, rounds=100, results=0))
    assert caplog.messages == [
        f"a keeper begins, pid {os.getpid()}, for {tmp_path}",
        f"the keeper, pid {os.getpid()}, ends: nothing to do for 0 s",
    ]


class Moved(Nothing):
    def round(self):
        if self.state.exists():
            self.state.rename(self.state.with_name("elsewhere"))
        self.rounds -= 1
        assert self.rounds, "it serves a directory that is not there"


def test_a_keeper_ends_when_its_state_directory_is_moved(tmp_path, caplog):
    """Or it would hold the lock for good, and nothing would happen to the grid jobs there."""
    state = tmp_path / "state"
    state.mkdir()
    assert keep(state, Clock(), 60, lambda: Moved(state, rounds=5, results=0))
    assert caplog.messages == [f"the keeper, pid {os.getpid()}, ends: its lock is not in {state} any more"]


class Killed(Exception):
    """What ends a keeper here."""


@pytest.mark.parametrize("full", [False, True])
def test_a_keeper_that_is_killed_as_it_begins_does_not_seem_to_have_nothing_to_do(tmp_path, monkeypatch, full):
    """Or no poll would start another one, for the keeper before it ended for want of work."""

    def opened():
        raise Killed

    (tmp_path / "heartbeat").write_text(f"{Clock().boot_id()} idle\n")
    if full:
        monkeypatch.setattr("jim.keeper.loop.replace", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(Killed):
        keep(tmp_path, Clock(), 60, opened)
    assert not (tmp_path / "heartbeat").exists() or "idle" not in (tmp_path / "heartbeat").read_text()

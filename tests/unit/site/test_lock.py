"""The keeper's lock and heartbeat."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import jim
from jim.errors import JimError
from jim.site import lock
from jim.site.lock import FRESH_SECONDS, MISSED_SECONDS, Lock, alone, heart_beats, holder, runs
from tests.support.cli_home import SetClock

HOME = Path(jim.__file__).parent


def test_only_one_keeper_gets_the_lock_and_its_pid_is_known(tmp_path):
    first, second = Lock(tmp_path), Lock(tmp_path)
    assert (runs(tmp_path), first.take(), second.take()) == (False, True, False)
    assert (runs(tmp_path), holder(tmp_path)) == (True, os.getpid())
    first.release()
    assert (runs(tmp_path), holder(tmp_path), second.take()) == (False, 0, True)


def test_a_keeper_notices_that_its_state_directory_was_moved(tmp_path):
    (tmp_path / "state").mkdir()
    own = Lock(tmp_path / "state")
    assert own.is_there()
    (tmp_path / "state").rename(tmp_path / "moved")
    assert not own.is_there()
    (tmp_path / "state").mkdir()
    Lock(tmp_path / "state")  # another keeper's
    assert not own.is_there()


def test_a_command_that_needs_no_keeper_beside_it_refuses_while_one_works(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "OPENING_SECONDS", 0.0)
    keeper = Lock(tmp_path)
    keeper.take()
    refused = pytest.raises(JimError, match=rf"a keeper is at work in .* \(pid {os.getpid()}\): end it first")
    before = list(Path("/proc/self/fd").iterdir())
    with refused, alone(tmp_path):
        pass
    keeper.release()
    with alone(tmp_path):
        assert not keeper.take()
    assert keeper.take()
    assert list(Path("/proc/self/fd").iterdir()) == before, "no file stays open"


@pytest.mark.parametrize(
    ("heartbeat", "beats"),
    [
        ("boot-1 1000\n", True),
        (f"boot-1 {1000 - FRESH_SECONDS}\n", True),
        (f"boot-1 {1000 - FRESH_SECONDS - 1}\n", False),
        ("boot-0 1000\n", False),  # before the machine was restarted
        ("boot-1 idle\n", False),
        ("", False),
        (None, False),
    ],
)
def test_a_heart_beats_if_the_heartbeat_is_fresh_and_of_this_boot(tmp_path, heartbeat, beats):
    if heartbeat is not None:
        (tmp_path / "heartbeat").write_text(heartbeat)
    assert heart_beats(tmp_path, SetClock()) is beats


@pytest.mark.parametrize(("age", "beats"), [(MISSED_SECONDS, True), (MISSED_SECONDS + 1, False)])
def test_the_heart_of_a_killed_keeper_stops_as_soon_as_beats_are_missing(tmp_path, age, beats):
    """`jim status` said for 20 s after `kill -9` that all was well."""
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    (tmp_path / "heartbeat").write_text(f"boot-1 {1000 - age}\n")
    (tmp_path / "keeper.lock").write_text(f"{gone.pid}\n")
    assert heart_beats(tmp_path, SetClock()) is beats
    for lives in (f"{os.getpid()}\n", "1\n", ""):  # this process; one of another account; a pid that is not written yet
        (tmp_path / "keeper.lock").write_text(lives)
        assert heart_beats(tmp_path, SetClock())


def test_locks_are_taken_only_on_files_that_no_stranger_can_open():
    """Whoever may read a file may lock it. A new place that locks belongs into a directory of the account alone."""
    places = {str(each.relative_to(HOME)) for each in HOME.rglob("*.py") if "flock(" in each.read_text()}
    assert places == {
        "admin/check.py",  # a temporary file of mode 0600
        "admin/trial/leftovers.py",  # the state directory, mode 0700
        "files/__init__.py",  # makes its files with mode 0600
        "localbatch/area.py",  # below the state directory
        "site/lock.py",  # likewise
    }

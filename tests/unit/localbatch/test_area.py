"""An area is made once, and a queue file that is lost, or of another format, is no empty queue."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from jim.clock import Clock
from jim.localbatch import __main__ as command_line
from jim.localbatch import area
from jim.localbatch.queue import Queue
from tests.unit.localbatch.place import CHECKOUT, PYTHON, WAIT_FOR_GO, living, until


def test_a_lost_queue_does_not_look_empty(tmp_path, capsys):
    (tmp_path / area.LOCK_FILE).touch()
    assert command_line.main(["--area", str(tmp_path), "submit", "--name=a", "/bin/true"]) == 1
    assert "has no queue.db, but is not empty" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("list",), ("find", "a"), ("history", "1"), ("cancel", "1"), ("ledger",)])
def test_what_asks_for_known_jobs_makes_no_area(tmp_path, capsys, words):
    """Neither where one was removed, nor, as a late verb, where one is about to be put back."""
    directory = tmp_path / "area"
    assert command_line.main(["--area", str(directory), *words]) == 1
    assert capsys.readouterr().err == f"localbatch: {directory} has no queue.db: `init`, `submit` and `ping` make one\n"
    assert not directory.exists()


def test_a_queue_of_another_format_is_left_alone(place, capsys):
    place.queue.db.execute("PRAGMA user_version = 1")
    assert command_line.main(["--area", str(place.directory), "list"]) == 1
    assert "has format 1, this program knows 2: let the JIM that made it end its jobs" in capsys.readouterr().err


def test_of_two_that_make_an_area_the_first_counts(place):
    before = place.queue.settings()
    area._make(place.directory)
    with closing(area.connect(place.directory)) as db:
        assert Queue(db, Clock()).settings() == before


def test_what_has_ended_leaves_the_queue_in_one_file(tmp_path):
    directory = tmp_path / "area"
    command = [*PYTHON, "-m", "jim.localbatch", "--area", str(directory), "init", "--idle", "0.1"]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": CHECKOUT}, check=True)
    ended = {area.LOCK_FILE, area.QUEUE_FILE, area.LOG_FILE}  # else a copy of that file alone would lack something
    until((directory / area.LOG_FILE).exists)
    until(lambda: {file.name for file in directory.iterdir()} == ended)


# The lock


def test_a_second_daemon_gives_way_after_something_has_cleaned_up(served):
    """Two daemons would kill each other's payloads."""
    served.until_served()
    (served.directory / area.LOCK_FILE).unlink()
    assert served.command("serve").returncode == 1
    assert served.command("ping").returncode == 0
    assert served.daemons[0].poll() is None


def test_a_daemon_whose_area_was_replaced_by_a_copy_ends_and_kills_nothing(served):
    """Verbs start another one for the copy; the two killed each other's payloads."""
    task = served.pid(served.submit(WAIT_FOR_GO))
    shutil.copytree(served.directory, served.home / "copy")
    served.directory.rename(served.home / "was")
    (served.home / "copy").rename(served.directory)
    assert until(lambda: served.daemons[0].poll() is not None)
    assert living(task)


def take(directory):
    with closing(area.Lock.open(directory)) as lock:
        return lock.take()


def test_a_daemon_of_an_older_version_keeps_its_area(tmp_path):
    """It locks the file alone; during an upgrade, it may serve for hours."""
    with (tmp_path / area.LOCK_FILE).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert not take(tmp_path)
        fcntl.flock(file, fcntl.LOCK_UN)
        assert take(tmp_path)


def test_an_older_version_sees_that_an_area_is_served(tmp_path):
    with closing(area.Lock.open(tmp_path)) as lock:
        assert lock.take()
        with (tmp_path / area.LOCK_FILE).open("r+") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.release()
        assert take(tmp_path)


def test_where_no_directory_can_be_locked_its_file_is(tmp_path, monkeypatch):
    """As on NFS, which locks only what is open for writing."""
    real = fcntl.flock

    def flock(descriptor, kind):
        if kind & fcntl.LOCK_EX and Path(f"/proc/self/fd/{descriptor}").readlink() == tmp_path:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real(descriptor, kind)

    monkeypatch.setattr(fcntl, "flock", flock)
    with closing(area.Lock.open(tmp_path)) as lock:
        assert lock.take()
        assert not take(tmp_path)
        assert (tmp_path / area.LOCK_FILE).read_text() == f"{os.getpid()}\n"
        with closing(area.Lock(os.dup(lock.descriptor))) as inherited:
            assert inherited.take()
        lock.release()
        assert take(tmp_path)

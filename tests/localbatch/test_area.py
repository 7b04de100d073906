"""An area is made once, and a queue file that is lost, or of another format, is no empty queue."""

from __future__ import annotations

import os
import subprocess
from contextlib import closing

from jim.clock import Clock
from jim.localbatch import __main__ as command_line
from jim.localbatch import area
from jim.localbatch.queue import Queue
from tests.localbatch.place import CHECKOUT, PYTHON, until


def test_a_lost_queue_does_not_look_empty(tmp_path, capsys):
    (tmp_path / area.LOCK_FILE).touch()
    assert command_line.main(["--area", str(tmp_path), "list"]) == 1
    assert "has no queue.db, but is not empty" in capsys.readouterr().err


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

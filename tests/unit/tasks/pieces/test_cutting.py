"""Which pieces an open pool makes: with `when = "full"`, what later files could still fill waits."""

from __future__ import annotations

import json

import pytest

from jim.statusdb.task_rows import TaskState
from tests.unit.tasks.ground import Ground


@pytest.fixture
def ground(tmp_path, monkeypatch):
    return Ground(tmp_path, monkeypatch)


def text(file, splitter, **parameters):
    return f"""
        [[task]]
        name = "t"
        request = {{ job_type = "executable", executable = "/bin/echo", arguments = ["$InputFiles", "$JobMask"] }}
        source = [ {{ list = "{file}", every_seconds = 1 }} ]
        [task.split]
        splitter = "{splitter}"
        parameters = {{ {", ".join(f"{name} = {json.dumps(value)}" for name, value in parameters.items())} }}
        """.replace('"$InputFiles", "$JobMask"', '"$InputFiles"')


def line(name, run, first, last, events=0):
    lumis = list(range(first, last + 1))
    return json.dumps({"lfn": name, "runs": {str(run): lumis}, **({"events": events} if events else {})}) + "\n"


def pieces(ground):
    """Return the lumis of each piece, by runs."""
    found = (ground.store.pieces.one(1, p) for p in range(ground.task().next_piece))
    return [each.record["mask"]["run_lumis"] for each in found if each and each.state.value != "taken back"]


def settle(ground):
    ground.go(6, 1.0)


def test_lumis_that_do_not_fill_a_job_wait_while_the_pool_is_open(ground, tmp_path):
    file = tmp_path / "names.txt"
    file.write_text(line("/a", 1, 1, 4))
    ground.start(text(file, "LumiBased", lumis_per_job=3))
    settle(ground)
    assert pieces(ground) == []  # lumi 4 waits, and so does the file that it is in
    with file.open("a") as more:
        more.write(line("/b", 1, 5, 6))
    settle(ground)
    assert pieces(ground) == [{"1": [[1, 3]]}, {"1": [[4, 4], [5, 6]]}]
    with file.open("a") as more:
        more.write(line("/c", 1, 7, 7) + "closed\n")
    ground.until_state(TaskState.FINISHED)
    assert pieces(ground)[2:] == [{"1": [[7, 7]]}]


def test_the_rest_of_each_run_waits(ground, tmp_path):
    """A job has lumis of one run only: each run may still get more."""
    file = tmp_path / "names.txt"
    file.write_text(line("/a", 1, 1, 2) + line("/b", 2, 1, 3))
    ground.start(text(file, "LumiBased", lumis_per_job=3))
    settle(ground)
    assert pieces(ground) == [{"2": [[1, 3]]}]
    with file.open("a") as more:
        more.write(line("/c", 1, 3, 3))
    settle(ground)
    assert pieces(ground)[1:] == [{"1": [[1, 2], [3, 3]]}]


def test_if_a_job_ends_with_its_file_nothing_waits(ground, tmp_path):
    file = tmp_path / "names.txt"
    file.write_text(line("/a", 1, 1, 4))
    ground.start(text(file, "LumiBased", lumis_per_job=3, halt_job_on_file_boundaries=True))
    settle(ground)
    assert pieces(ground) == [{"1": [[1, 3]]}, {"1": [[4, 4]]}]


def test_events_that_do_not_fill_a_job_wait_while_the_pool_is_open(ground, tmp_path):
    file = tmp_path / "names.txt"
    file.write_text(line("/a", 1, 1, 2, events=200))  # 100 events a lumi
    ground.start(text(file, "EventAwareLumiBased", events_per_job=250, halt_job_on_file_boundaries=False))
    settle(ground)
    assert pieces(ground) == []
    with file.open("a") as more:
        more.write(line("/b", 1, 3, 3, events=100))  # 300 events: a job of two such lumis, and one that waits
    settle(ground)
    assert pieces(ground) == [{"1": [[1, 2]]}]
    with file.open("a") as more:
        more.write("closed\n")
    ground.until_state(TaskState.FINISHED)
    assert pieces(ground)[1:] == [{"1": [[3, 3]]}]


def test_what_has_waited_long_enough_is_sent_all_the_same(ground, tmp_path):
    file = tmp_path / "names.txt"
    file.write_text(line("/a", 1, 1, 2))
    words = text(file, "LumiBased", lumis_per_job=3).rstrip() + "\n        max_wait_seconds = 60\n"
    ground.start(words)
    settle(ground)
    assert pieces(ground) == []
    ground.go(6, 20.0)
    assert pieces(ground) == [{"1": [[1, 2]]}]

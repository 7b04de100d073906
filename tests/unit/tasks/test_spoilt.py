"""Outputs of a task's wave that are lost before its tar is made: what is kept elsewhere is not made a second time."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from jim.model import State
from jim.statusdb.task_rows import TaskState
from tests.unit.tasks.ground import Ground

STORED = {"t-0000000-1.dat": "1 to 2\n", "t-0000001-3.dat": "3 to 4\n"}


def text(store=None):
    """Write a task of two pieces, whose outputs are in the tar, too."""
    place = f', store = "{store}"' if store else ""
    return f"""
        [[task]]
        name = "t"
        request.job_type = "executable"
        request.executable = "/bin/echo"
        request.arguments = ["$FirstEvent", "$LastEvent"]
        request.outputs = ["*.dat"]
        request.tar = "full"
        source = [ {{ events = 4, events_per_piece = 2 }} ]
        output = [ {{ name = "gen", files = "*.dat"{place} }} ]
        """


def stored(place):
    return {path.name: path.read_text() for path in sorted(place.iterdir())}


@pytest.fixture
def ground(tmp_path, monkeypatch):
    made = Ground(tmp_path, monkeypatch)
    made.brings = lambda words: {f"{words[0]}.dat": f"{words[0]} to {words[1]}\n".encode()}
    return made


@pytest.fixture
def store(tmp_path):
    place = tmp_path / "store"
    place.mkdir()
    return place


def begun(ground, words):
    """Let both pieces of a wave run, and the first end."""
    ground.start(words)
    ground.until(lambda: len(ground.batch.tasks) == 2)
    ground.begin()
    ground.end_one("1", 1)
    ground.until(lambda: ground.state(1, 0) is State.COMPLETED)
    ground.go()


def lose(ground):
    (ground.site.work / "1/s1/run.1/1.dat").unlink()
    ground.end_one("1", 2)


def tar_names(ground):
    with tarfile.open(ground.store.grid_job(1).result["tar"]) as tar:
        told = json.loads(tar.extractfile("jim/summary.json").read())
        return tar.getnames(), told


def test_what_is_kept_nowhere_else_is_made_again_and_counts_once(ground):
    begun(ground, text())
    assert ground.counts("output gen") == {"promised": 1, "verified": 1}
    lose(ground)
    ground.until(lambda: len(ground.batch.tasks) == 3)
    assert ground.counts("pieces") == {"completed": 1, "sent": 1}
    ground.until_state(TaskState.FINISHED)
    assert ground.task().outcome == "completed"
    assert [Path(ground.store.outputs.of_piece(1, p)[0].place).read_text() for p in range(2)] == list(STORED.values())
    assert ground.counts("output gen") == {"verified": 2}
    assert sorted(ground.diary) == [("1", "2"), ("1", "2"), ("3", "4")]


def test_what_is_stored_is_not_made_again_and_the_tar_says_that_it_lacks_it(ground, store):
    begun(ground, text(store))
    ground.until(lambda: len(stored(store)) == 1)
    lose(ground)
    ground.until_state(TaskState.FINISHED)
    assert len(ground.batch.tasks) == 2
    assert stored(store) == STORED
    names, told = tar_names(ground)
    assert ("1.0/1.dat" in names, "1.1/3.dat" in names) == (False, True)
    assert [each.get("lost") for each in told] == [["1.dat: No such file or directory"], None]
    assert (ground.store.grid_job(1).outcome, ground.task().outcome) == ("completed", "completed")


def test_a_retry_by_a_person_does_not_make_it_again_either(ground, store):
    begun(ground, text(store))
    ground.until(lambda: len(stored(store)) == 1)
    run = ground.site.work / "1/s1/run.1"
    run.rename(run.with_name("elsewhere"))
    ground.end_one("1", 2)
    ground.until_state(TaskState.FINISHED)  # what is stored is not waited for
    ground.wish("retry", "1")
    ground.go(5)
    assert (len(ground.batch.tasks), len(stored(store))) == (2, 2)


def test_what_another_task_uses_is_not_made_again(ground):
    fed = """
        [[task]]
        name = "reco"
        request = { job_type = "executable", executable = "/bin/echo", arguments = ["$InputFiles"] }
        source = [ { task = "t", output = "gen" } ]
        split = { splitter = "FileBased", parameters = { files_per_job = 1 } }
        """
    begun(ground, text() + fed)
    ground.ask("start", "reco", untested=True)
    ground.until(lambda: len(ground.batch.tasks) == 3)
    lose(ground)
    ground.until(lambda: ground.store.grid_job(1).outcome)
    assert ground.diary.count(("1", "2")) == 1
    assert "1.0/1.dat" not in tar_names(ground)[0]

"""A name that is used again: nothing of the task that had it before reaches the new one."""

from __future__ import annotations

import pytest

from jim.statusdb.task_rows import NewItem, TaskState
from jim.tasks.pool.looking import Looking, _found
from jim.tasks.sources import Found
from tests.unit.tasks.chain import GEN, RECO, Chain
from tests.unit.tasks.ground import EVENTS, SH

WATCHES = f"""
[[task]]
name = "t"
{SH}
source = [ {{ directory = "in", files = "*.raw", stable_seconds = 5, every_seconds = 5, closed_by = "END.*" }} ]
split = {{ splitter = "FileBased", parameters = {{ files_per_job = 1 }} }}
"""


@pytest.fixture
def place(ground):
    """A directory with one file, that a task watches."""
    place = ground.place / "in"
    place.mkdir()
    (place / "a.raw").write_text("a")
    return place


def test_a_task_in_place_of_a_tested_one_finds_the_files_of_its_directory(ground, place):
    ground.create(WATCHES)
    ground.ask("test")
    ground.until(lambda: ground.batch.tasks, seconds=5.0)
    ground.go(6, 10.0)  # the directory is at rest
    ground.work()
    ground.until(lambda: ground.task().state is TaskState.READY, seconds=5.0)
    ground.create(f"{WATCHES}test = {{ most_seconds = 50 }}\n")
    ground.ask("test")
    ground.until_state(TaskState.READY, seconds=5.0)
    assert ground.items() == {str(place / "a.raw"): "available"}


def test_a_task_with_the_name_of_a_removed_one_finds_the_files_of_its_directory(ground, place):
    ground.start(WATCHES)
    ground.go(6, 10.0)
    ground.work()
    ground.ask("close")
    ground.until_state(TaskState.FINISHED)
    ground.ask("remove")
    ground.start(WATCHES)
    ground.go(6, 5.0)
    assert ground.items() == {str(place / "a.raw"): "acquired"}


def test_what_a_worker_finds_for_a_removed_task_is_no_item(ground):
    text = f'[[task]]\nname = "t"\n{EVENTS}\nsource = [ {{ events = 4 }} ]\n'
    ground.create(text)
    task = ground.task()
    (source,) = ground.store.pools.sources(task.id)
    ground.ask("remove")
    ground.create(text)
    _found(ground.keeper, task, source, Found(new=[NewItem("/other", "")]), Looking())
    assert ground.task().id != task.id
    assert ground.items() == {}
    assert ground.store.db.execute("SELECT count(*) FROM item").fetchone() == (0,)


def test_a_task_with_the_name_of_a_removed_one_feeds_nothing_that_has_ended(tmp_path, monkeypatch):
    ground = Chain(tmp_path, monkeypatch)
    made = f"""
        {GEN}
        source = [ {{ events = 4, events_per_piece = 2 }} ]
        output = [ {{ name = "gen", files = "gen.dat" }} ]
        """
    ends = f"""
        {RECO}
        source = [ {{ task = "gen", output = "gen", promises = true }} ]
        """
    ground.start(made + ends, "gen", "reco")
    ground.finish("reco")
    ground.ask("remove", "gen")
    ground.restart()  # what a keeper remembers is gone
    ground.start(made, "gen")
    ground.go(2)
    ground.finish("gen")
    assert ground.items("reco") == {"gen/0": "completed", "gen/1": "completed"}
    assert ground.task("reco").state is TaskState.FINISHED

"""A site's own steps, and its list of storages, hold for the pieces of tasks as for requests."""

from __future__ import annotations

import json
import sys

import pytest

from jim.site.settings import General
from jim.statusdb.task_rows import TaskState
from tests.unit.tasks.ground import EVENTS, Ground, a_list

STEPS = """
from jim.errors import BadRequest


def queue(request):
    names = [each["lfn"] for each in request.get("input_files") or ()]
    return request | {"queue": f"of-{len(names)}", "environment": {"SPLITTER": str(request.get("splitter"))}}


def each(request):
    (name,) = [each["lfn"] for each in request["input_files"]]
    if name == "/bad":
        raise BadRequest("no /bad at night", "input_files")
    return request | {"arguments": [*request["arguments"], "--late", name]}


def drops(request):
    return request | {"input_files": request["input_files"][1:]}


def none(request):
    raise BadRequest("the site is closed", "job_type")
"""
FILES = """
    [[task]]
    name = "t"
    request = {{ job_type = "executable", executable = "/bin/echo", arguments = ["$InputFiles"] }}
    source = [ {{ list = "{list}" }} ]
    split = {{ splitter = "FileBased", parameters = {{ files_per_job = 1 }} }}
    """


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Make a ground whose site has steps."""
    (tmp_path / "own/tasksite").mkdir(parents=True)
    (tmp_path / "own/tasksite/steps.py").write_text(STEPS)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def make(*steps, **settings):
        names = tuple(each if each == "split" else f"tasksite.steps.{each}" for each in steps)
        site = General(handlers=str(tmp_path / "own"), steps=names, **settings)
        return Ground(tmp_path, monkeypatch, site=site)

    yield make
    for name in ("tasksite.steps", "tasksite"):
        sys.modules.pop(name, None)


def test_steps_before_the_split_see_each_wave_and_those_after_it_each_piece(made, tmp_path):
    ground = made("queue", "split", "each")
    ground.start(FILES.format(list=a_list(tmp_path, "/a", "/b", "/bad")))
    ground.until_state(TaskState.FINISHED)
    assert sorted(ground.diary) == [("/a", "--late", "/a"), ("/b", "--late", "/b")]
    (wave,) = ground.store.waves.all(1)
    request = ground.store.grid_job(wave.grid).request
    assert (request["queue"], request["environment"]) == ("of-3", {"SPLITTER": "FileBased"})
    assert (request["splitter"], request["input_files"]) == (None, [])
    assert [each.reason for each in ground.store.pieces.failed(1)] == [
        "failed on creation: step tasksite.steps.each: input_files: no /bad at night"
    ]
    assert ground.counts("items") == {"completed": 2, "failed": 1}


def test_a_task_that_makes_events_has_steps_of_the_wave_alone(made):
    ground = made("queue")
    ground.start(f'[[task]]\nname = "t"\n{EVENTS}\nsource = [ {{ events = 4, events_per_piece = 2 }} ]\n')
    ground.until_state(TaskState.FINISHED)
    assert ground.ranges() == [(1, 2), (3, 4)]
    (wave,) = ground.store.waves.all(1)
    assert ground.store.grid_job(wave.grid).request["environment"] == {"SPLITTER": "None"}


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("drops", "the steps tasksite.steps.drops must not change input_files of a task: its pieces are planned"),
        ("none", "step tasksite.steps.none: job_type: the site is closed"),
    ],
)
def test_a_step_that_refuses_a_wave_pauses_the_task_and_loses_nothing(made, tmp_path, step, words):
    ground = made(step)
    ground.start(FILES.format(list=a_list(tmp_path, "/a", "/b")))
    ground.until(lambda: ground.task().state is TaskState.PAUSED)
    assert ground.task().reason == words
    assert ground.counts("pieces") == {"ready": 2}
    assert not ground.batch.tasks


def test_a_piece_whose_files_are_elsewhere_has_failed_on_its_creation(made, tmp_path):
    ground = made(locations=("T1",))
    lines = [json.dumps({"lfn": f"/{name}", "locations": [name]}) for name in ("T1", "T2")]
    ground.start(FILES.format(list=a_list(tmp_path, *lines)))
    ground.until_state(TaskState.FINISHED)
    assert ground.diary == [("/T1",)]
    (failed,) = ground.store.pieces.failed(1)
    assert failed.reason.startswith(
        "failed on creation: it may only run at T2, and this site is none of them: see site.locations"
    )


def test_a_site_s_splitter_that_hangs_takes_no_thread_of_tars(made, tmp_path, monkeypatch):
    ground = made()
    started, start = [], ground.keeper.workers.start
    monkeypatch.setattr(ground.keeper.workers, "start", lambda errand: started.append(errand) or start(errand))
    ground.start(FILES.format(list=a_list(tmp_path, "/a", "/b")))
    ground.until(lambda: ground.work(3) or ground.counts("pieces") == {"failed": 2})
    ground.ask("recover", parameters={"files_per_job": 1})
    ground.until(lambda: ground.work() or ground.counts("pieces") == {"replaced": 2, "completed": 2})
    by_threads = {(errand.key[0], errand.source) for errand in started}
    assert {("task plan", True), ("task recover", True)} <= by_threads
    assert not {("task plan", False), ("task recover", False)} & by_threads

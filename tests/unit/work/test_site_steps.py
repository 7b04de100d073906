"""Steps that a site adds before a request is split."""

import json
import sys

import pytest

from jim.doors.inbox import deposit
from jim.errors import BadRequest, JimError
from jim.model import Piece
from jim.request import check
from jim.site.file import General
from jim.work.site_steps import OfEach, take
from tests.support.stand_ins import World

OWN = """
from jim.errors import BadRequest


def sane(request):
    if any(each["lfn"].startswith("/lost") for each in request["input_files"]):
        raise BadRequest("the site has lost /lost", "input_files")
    return request


def here(request):
    request["input_files"] = [each for each in request["input_files"] if each["lfn"] != "/elsewhere"]
    return request


def other_dataset(request):
    return request | {"dataset": "mc"}


def without_dataset(request):
    return request | {"dataset": None}


with_dataset = other_dataset


def broken(request):
    return request["nothing"]


def mistyped(request):
    return reqest


def wrong(request):
    return request | {"cores": "many"}


def another(request):
    return request | {"key": "k2"}


def queue_of(request):
    if request["arguments"] == ["/b"]:
        raise BadRequest("no /b at night", "input_files")
    name = request["input_files"][0]["lfn"].strip("/")
    return request | {"queue": f"q-{name}", "arguments": [*request["arguments"], "--late"]}


def fewer(request):
    return {"queue": "x"}


def forgetful(request):
    request["cores"] = 2
"""
ASKED = {"job_type": "executable", "executable": "/bin/echo", "arguments": ["$InputFiles"], "splitter": "FileBased"}


@pytest.fixture
def own(tmp_path, monkeypatch):
    place = tmp_path / "own"
    (place / "stepsite").mkdir(parents=True)
    (place / "stepsite/steps.py").write_text(OWN)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield str(place)
    for name in ("stepsite.steps", "stepsite"):
        sys.modules.pop(name, None)


def start(tmp_path, monkeypatch, own, *steps, files=("/a", "/elsewhere")):
    names = tuple(f"stepsite.steps.{each}" for each in steps)
    world = World(tmp_path, monkeypatch, site=General(handlers=own, steps=names))
    asked = ASKED | {"input_files": [{"lfn": each} for each in files]}
    deposit(world.site.state, "k1", check(asked)[1] | {"key": "k1"})
    return world


def test_steps_are_taken_in_turn_before_the_split(tmp_path, monkeypatch, own):
    world = start(tmp_path, monkeypatch, own, "sane", "here")
    world.until(lambda: world.batch.tasks)
    assert [each.piece.files for each in world.store.local_jobs(1)] == [("/a",)]
    assert [each["lfn"] for each in world.store.grid_job(1).request["input_files"]] == ["/a"]
    told = [each.reason for each in world.store.journals.of(1) if each.now == "looked up"]
    assert told == ["functions called: stepsite.steps.sane, stepsite.steps.here"]


@pytest.fixture
def dataset(tmp_path, monkeypatch, own):
    """Return a function that hands in a request for a dataset of the catalogue, which has /a and /elsewhere."""
    (tmp_path / "catalogue/datasets").mkdir(parents=True)
    files = [{"lfn": "/a"}, {"lfn": "/elsewhere"}]
    (tmp_path / "catalogue/datasets/raw.json").write_text(json.dumps({"files": files}))

    def hand_in(*steps):
        names = tuple(f"stepsite.steps.{each}" for each in steps)
        site = General(handlers=own, steps=names, catalogue=str(tmp_path / "catalogue"))
        world = World(tmp_path, monkeypatch, site=site)
        deposit(world.site.state, "k1", check(ASKED | {"dataset": "raw"})[1] | {"key": "k1"})
        return world

    return hand_in


def test_steps_get_the_files_that_the_catalogue_has_for_a_dataset(dataset):
    world = dataset("sane", "here")
    world.until(lambda: world.batch.tasks)
    assert [each.piece.files for each in world.store.local_jobs(1)] == [("/a",)]
    assert world.store.grid_job(1).request["dataset"] == "raw"


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (["other_dataset"], "other_dataset must not change the attribute dataset: its files are input_files already"),
        (["without_dataset", "with_dataset"], "dataset: a request may have either this attribute or input_files"),
    ],
)
def test_a_step_that_changes_the_dataset_is_refused(dataset, steps, words):
    world = dataset(*steps)
    world.until(lambda: world.finished(1))
    assert words in world.store.grid_job(1).reason


def test_a_step_may_refuse(tmp_path, monkeypatch, own):
    world = start(tmp_path, monkeypatch, own, "sane", files=("/lost/x",))
    world.until(lambda: world.finished(1))
    job = world.store.grid_job(1)
    assert (job.outcome, job.size) == ("failed", 0)
    assert job.reason == "cannot be split: step stepsite.steps.sane: input_files: the site has lost /lost"


@pytest.mark.parametrize(
    ("step", "kind", "words"),
    [
        ("stepsite.steps.broken", JimError, "step stepsite.steps.broken failed: KeyError: 'nothing'"),
        ("stepsite.steps.mistyped", JimError, r"mistyped failed: NameError: .* \(steps.py, line 32\)"),
        ("stepsite.steps.wrong", BadRequest, "step stepsite.steps.wrong: cores: expected a whole number"),
        ("stepsite.steps.another", JimError, "step stepsite.steps.another must not change the attribute key"),
        (
            "stepsite.steps.forgetful",
            JimError,
            "forgetful must return the attributes of the request, but returned NoneType",
        ),
        ("stepsite.steps.none", JimError, "cannot load step of site.steps 'stepsite.steps.none'"),
        ("stepsite.no.step", JimError, "cannot load step of site.steps 'stepsite.no.step'"),
        ("step", JimError, "cannot load step of site.steps 'step'"),
    ],
)
def test_a_step_that_is_wrong_is_told(own, step, kind, words):
    request = check(ASKED | {"input_files": [{"lfn": "/a"}]})[1] | {"key": "k1"}
    with pytest.raises(kind, match=words):
        take(request, (step,), own)


def test_steps_after_the_split_get_each_local_job_as_a_request(tmp_path, monkeypatch, own):
    names = ("stepsite.steps.sane", "split", "stepsite.steps.queue_of")
    world = World(tmp_path, monkeypatch, site=General(handlers=own, steps=names))
    asked = ASKED | {"input_files": ["/a", "/b", "/c"], "splitter_parameters": {"files_per_job": 1}}
    deposit(world.site.state, "k1", check(asked)[1] | {"key": "k1"})
    world.until(lambda: world.batch.tasks)
    found = [(each.piece.arguments, each.piece.attributes, each.piece.failure) for each in world.store.local_jobs(1)]
    assert found == [
        (("/a", "--late"), {"queue": "q-a"}, ""),
        (("/b",), {}, "step stepsite.steps.queue_of: input_files: no /b at night"),
        (("/c", "--late"), {"queue": "q-c"}, ""),
    ]
    assert [each.state.value for each in world.store.local_jobs(1)][1] == "failed"
    (told,) = [each.reason for each in world.store.journals.of(1) if each.now == "looked up"]
    assert told == "functions called: stepsite.steps.sane; for each local job: stepsite.steps.queue_of"


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("another", "step stepsite.steps.another must not change the attribute key after the split"),
        ("here", "step stepsite.steps.here must not change the attribute input_files after the split"),
        ("fewer", "step stepsite.steps.fewer must return all attributes, but left out "),
        ("broken", "step stepsite.steps.broken failed: KeyError"),
    ],
)
def test_a_step_after_the_split_that_is_wrong_fails_the_grid_job(own, step, words):
    handler, request = check(ASKED | {"input_files": ["/elsewhere"]})
    each = OfEach(handler, request | {"key": "k1"}, (f"stepsite.steps.{step}",), own)
    with pytest.raises(JimError, match=words):
        each(Piece(files=("/elsewhere",)))


def test_a_value_of_a_local_job_that_cannot_be_fails_this_one_alone(own):
    handler, request = check(ASKED | {"input_files": ["/a"]})
    piece = OfEach(handler, request, ("stepsite.steps.wrong",), own)(Piece(files=("/a",)))
    assert piece.failure.startswith("step stepsite.steps.wrong: cores: expected a whole number, found 'many'")
    failed = Piece(files=("/a",), failure="no site")
    assert OfEach(handler, request, ("stepsite.steps.wrong",), own)(failed) is failed

"""A request that leaves something to the site's catalogue: from the door, which looks nothing up, to its local jobs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from jim.doors.inbox import deposit
from jim.errors import BadRequest
from jim.model import Step
from jim.request import check
from jim.site.file import General, Sizing
from tests.support.stand_ins import World

FILES = [
    {"lfn": "/a", "events": 30, "runs": {"1": [1, 2, 3]}, "size": 7, "locations": ["A"], "parents": ["/p"]},
    {"lfn": "/b", "events": 10, "runs": {"2": [7]}, "locations": ["A", "B"]},
]
SPLIT = {"job_type": "executable", "executable": "/bin/echo", "arguments": ["$InputFiles"], "dataset": "/d0/raw"}
SHOOT = {"job_type": "resolvingsite.shots"}
OWN = '''
"""Shots by request id."""

from jim.errors import BadRequest
from jim.handlers.base import BY_REQUEST, Attribute, Handler


class Shots(Handler):
    """One event is one shot."""

    attributes = BY_REQUEST | {"noise": Attribute(str, "a dataset that is handed on", names="dataset")}

    def check(self, request):
        if request["events"] == 13:
            raise BadRequest("events: 13 is unlucky")

    def command_and_arguments(self, request, job, piece):
        return ("shoot", str(piece.first_event), str(piece.events), str(request["noise"]))


HANDLER = Shots
'''


@pytest.fixture
def catalogue(tmp_path):
    place = tmp_path / "catalogue"
    (place / "requests").mkdir(parents=True)
    (place / "datasets").mkdir()
    (place / "requests/13669.toml").write_text("events = 600\n")
    (place / "requests/unlucky.json").write_text('{"events": 13}')
    (place / "requests/idle.toml").write_text("# nobody has said how many\n")
    (place / "datasets/%2Fd0%2Fraw.json").write_text(json.dumps({"files": FILES}))
    (place / "datasets/empty.json").write_text("{}")
    return place


@pytest.fixture
def own(tmp_path, monkeypatch):
    place = tmp_path / "own"
    (place / "resolvingsite").mkdir(parents=True)
    (place / "resolvingsite/shots.py").write_text(OWN)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield str(place)
    for name in ("resolvingsite.shots", "resolvingsite"):
        sys.modules.pop(name, None)


@pytest.fixture
def world(tmp_path, monkeypatch, catalogue, own):
    return World(tmp_path, monkeypatch, site=General(catalogue=str(catalogue), handlers=own))


def submit(world, asked, **more):
    checked = check(asked | more, world.site.site.handlers)[1]
    return deposit(world.site.state, "k1", checked | {"key": "k1"})


def commands(world):
    found = []
    for place in sorted(world.site.work.glob("*/s*/jobs")):
        for line in place.read_text().splitlines():
            index, word, value = (*line.split(" ", 2), "")[:3]
            if word == "arg":
                found.append((index, value))
    return [" ".join(value for index, value in found if index == one) for one in dict.fromkeys(i for i, _ in found)]


# What becomes of it


def test_a_request_may_give_only_its_request_id(world, catalogue):
    submit(world, SHOOT, request_id="13669")
    world.until(lambda: world.batch.tasks)
    assert commands(world) == ["shoot 1 250 None", "shoot 251 250 None", "shoot 501 100 None"]
    job = world.store.grid_job(1)
    assert (job.request["events"], job.request["request_id"], job.events_per_job) == (600, "13669", 250)
    facts = f"request id 13669 has 600 events (catalogue {catalogue})"
    assert job.why == f"the job type's rule of thumb, 250 events per local job; {facts}"
    assert [each.reason for each in world.store.journals.of(1) if each.now == "looked up"] == [facts]


def test_events_that_are_given_hold(world):
    submit(world, SHOOT, request_id="13669", events=100, noise="/d0/raw")
    world.until(lambda: world.batch.tasks)
    assert commands(world) == ["shoot 1 100 /d0/raw"]
    why = world.store.grid_job(1).why
    assert (
        "request id 13669 has 600 events, of which the request asks for 100; dataset /d0/raw has 2 files, 40 events"
        in why
    )
    assert "input_files" not in world.store.grid_job(1).request


def test_a_test_has_few_events_of_those_that_are_looked_up(world):
    submit(world, SHOOT, request_id="13669", test="yes")
    world.until(lambda: world.batch.tasks)
    assert commands(world) == ["shoot 1 10 None"]
    assert "request id 13669 has 600 events" in world.store.grid_job(1).why


def test_more_events_than_the_request_id_has_are_told(world):
    submit(world, SHOOT, request_id="13669", events=601)
    world.until(lambda: world.batch.tasks)
    assert "request id 13669 has 600 events, but the request asks for 601" in world.store.grid_job(1).why


@pytest.mark.parametrize(
    ("splitter", "parameters", "pieces"),
    [
        ("InputDataBySE", {}, ["/bin/echo /a", "/bin/echo /b"]),
        ("LumiBased", {"lumis_per_job": 2}, ["/bin/echo /b", "/bin/echo /a", "/bin/echo /a"]),
        ("FileBased", {"files_per_job": 1}, ["/bin/echo /b", "/bin/echo /a"]),
    ],
)
def test_splitters_take_their_files_from_a_dataset(world, splitter, parameters, pieces):
    submit(world, SPLIT, splitter=splitter, splitter_parameters=parameters)
    world.until(lambda: world.batch.tasks)
    assert sorted(commands(world)) == sorted(pieces)
    known = world.store.grid_job(1).request["input_files"]
    assert [each["lfn"] for each in known] == ["/a", "/b"]
    assert {"events": 30, "runs": {"1": [1, 2, 3]}, "size": 7, "parents": ["/p"], "locations": ["A"]}.items() <= (
        known[0].items()
    )


def test_what_was_looked_up_stays_as_it_was(world, catalogue):
    """After a kill behind the resolve step nothing is looked up again; before it, nothing was there."""
    submit(world, SHOOT, request_id="13669", events=None)
    world.rounds.round()  # a worker has looked it up, and the keeper is killed before it can store that
    assert world.store.grid_job(1).request["events"] is None
    (catalogue / "requests/13669.toml").write_text("events = 20\n")
    world.restart()
    world.until(lambda: world.store.grid_job(1).step is Step.RESOLVED)
    (catalogue / "requests/13669.toml").write_text("events = 40\n")
    world.restart()
    world.until(lambda: world.batch.tasks)
    assert commands(world) == ["shoot 1 20 None"]


def test_what_cannot_be_read_is_asked_again(world, catalogue):
    text = (catalogue / "requests/13669.toml").read_text()
    (catalogue / "requests/13669.toml").write_text("events = ")
    submit(world, SHOOT, request_id="13669")
    world.go(3)
    job = world.store.grid_job(1)
    assert (job.step, job.outcome, job.tries) == (Step.ACCEPTED, "", 1)
    assert job.reason.startswith(f"JIM cannot read the catalogue: {catalogue}/requests/13669.toml: ")
    (catalogue / "requests/13669.toml").write_text(text)
    world.until(lambda: world.batch.tasks, seconds=5.0)
    assert world.store.grid_job(1).reason == ""


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (
            SHOOT | {"request_id": "13668"},
            "request_id: there is no request id '13668' in the catalogue, {}/requests; did",
        ),
        (SHOOT | {"request_id": "unlucky"}, "events: 13 is unlucky"),
        (SHOOT | {"request_id": "idle"}, "request_id: request id 'idle' of the catalogue, {}, has no events"),
        (
            SHOOT | {"events": 5, "noise": "no"},
            "noise: there is no dataset 'no' in the catalogue, {}/datasets",
        ),
        (
            SPLIT | {"splitter": "FileBased", "dataset": "empty"},
            "dataset: dataset 'empty' of the catalogue, {}, is empty",
        ),
        (
            SPLIT | {"splitter": "LumiBased", "dataset": "d0"},
            "dataset: there is no dataset 'd0' in the catalogue, {}",
        ),
        (
            SHOOT | {"request_id": "13669", "events_per_job": 10, "cpu_seconds_per_event": 9e6},
            "a local job of 10 events",
        ),
    ],
)
def test_what_is_not_there_fails_the_grid_job_with_its_reason(world, catalogue, asked, reason):
    submit(world, asked)
    world.until(lambda: world.finished(1))
    job = world.store.grid_job(1)
    assert job.outcome == "failed"
    assert job.reason.startswith(f"cannot be split: {reason.format(catalogue)}")
    assert (job.size, world.store.local_jobs(1)) == (0, [])
    assert {each.name for each in (world.site.work / "1").rglob("*")} <= {"result", "1.tar", "owner"}
    world.go(1)
    assert "GRAM_SCRIPT_ERROR" in world.answer(1)


def test_the_sizes_of_the_site_hold_for_what_was_looked_up(tmp_path, monkeypatch, catalogue, own):
    general, sizing = General(catalogue=str(catalogue), handlers=own), Sizing(recommended_cpu_seconds=3000)
    world = World(tmp_path, monkeypatch, site=general, sizing=sizing)
    submit(world, SHOOT, request_id="13669", cpu_seconds_per_event=10.0)
    world.until(lambda: world.batch.tasks)
    assert world.store.grid_job(1).size == 2


# What doors and people are told


def test_two_sources_or_none_are_refused(own):
    for more, words in (
        ({}, "events: missing; give the number of events, or a request_id"),
        ({"request_id": "a b"}, "request_id: 'a b' is not possible"),
    ):
        with pytest.raises(BadRequest, match=words):
            check(SHOOT | more, own)
    with pytest.raises(BadRequest, match="dataset: needs a splitter; none is given"):
        check(SPLIT)
    with pytest.raises(BadRequest, match="dataset: a request may have either this attribute or input_files, not both"):
        check(SPLIT | {"splitter": "FileBased", "input_files": FILES})


@pytest.fixture
def site(home, tmp_path, catalogue, own):
    """A site with a catalogue, and a way to write requests."""
    (home.site.state / "site.toml").write_text(f'[site]\nhandlers = "{own}"\ncatalogue = "{catalogue}"\n')

    def write(**asked):
        file = tmp_path / "request.json"
        file.write_text(json.dumps(asked))
        return str(file)

    return home, write


def test_a_door_looks_nothing_up(site, catalogue):
    home, write = site
    for each in catalogue.rglob("*.*"):
        each.unlink()
    asked = write(**SPLIT, splitter="FileBased")
    assert home.run("submit", asked)[0] == 0
    assert home.woken
    code, _, err = home.run("submit", write(**SPLIT, splitter="FileBased", splitter_parameters={"files": 1}))
    assert (code, "files: unknown parameter" in err) == (2, True)
    code, _, err = home.run("submit", write(**SPLIT, splitter="GenericSplitter"))
    assert (code, "GenericSplitter splits requests and takes no input files" in err) == (2, True)


def test_a_dry_run_looks_up_and_shows_it(site, catalogue):
    home, write = site
    shown = home.out("submit", write(**SHOOT, request_id="13669"), "--dry-run")
    assert "3, of 250 events each, the last one 100 (600 in all)" in shown
    assert f"request id 13669 has 600 events (catalogue {catalogue})" in " ".join(shown.split())
    code, out, err = home.run("submit", write(**SHOOT, request_id="13668"), "--dry-run")
    assert (code, out) == (2, "")
    assert "there is no request id '13668'" in err
    assert not Path(home.site.state / "status.db").exists()
    pieces = home.json("split", write(**SPLIT, splitter="FileBased", splitter_parameters={"files_per_job": 1}))
    assert sorted(each["files"][0] for each in pieces) == ["/a", "/b"]


def test_without_a_catalogue_it_is_refused_at_the_door(home, tmp_path, own):
    (home.site.state / "site.toml").write_text(f'[site]\nhandlers = "{own}"\n')
    file = tmp_path / "request.json"
    for asked, what in (
        (SHOOT | {"request_id": "7"}, "the events of request id '7'"),
        (SPLIT | {"splitter": "FileBased"}, "the files of dataset '/d0/raw'"),
    ):
        file.write_text(json.dumps(asked))
        code, _, err = home.run("submit", str(file))
        assert (code, f"cannot look up {what}: this site has no catalogue (site.catalogue)" in err) == (2, True)
    file.write_text(json.dumps(SHOOT | {"events": 5, "request_id": "7", "noise": "known elsewhere"}))
    assert home.run("submit", str(file))[0] == 0  # what is only handed on is the payload's business


def test_explain_tells_what_the_catalogue_is_asked_for(site):
    home, _ = site
    home.add(size=0, request_id="13669", events=None)
    home.store.set_grid_job(1, tries=2, due=1030.0, reason="JIM cannot read the catalogue: /c: gone")
    home.beat()
    said = " ".join(home.out("explain", "1").split())
    assert (
        "the keeper still has to size it, after it asks the site's catalogue for the events of request id '13669'"
        in said
    )
    assert "JIM cannot read the catalogue: /c: gone" in said
    assert "try 3 in 30 s" in said

"""D0's production as SAMGrid ran it: job description files, commands, and a request with its merging, by stand-ins."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from jim.admin.gram_service import rvf
from jim.doors.gram.request import JOB_TYPE, attributes_of
from jim.errors import BadRequest
from jim.model import Job, Piece
from jim.request import check, read
from jim.site.file import General, Site, Sizing
from jim.work.sizing import size

HOME = Path(__file__).parents[3]
D0, STANDINS = HOME / "examples/d0", HOME / "examples/standins"
JOB = Job(grid_job=12, key="k", n=3, attempt=1)
JDF = (D0 / "request-13669.jdf").read_text()
WORDS = [
    *("--request_id=13669", "--release=p14.07.00", "--jobfiles_dataset=mcc99-p14.07.00-jobfiles"),
    *("--minbias_dataset=mcc99-p14.07.00-minbias", "--phases=generator,d0gstar,d0sim,d0reco", "--events_per_file=250"),
]
PHASES = ("generator", "d0gstar", "d0sim", "d0reco")


def asked(name, **more):
    return check(read(D0 / name) | more)


# What is asked for, and what is run


def test_samgrid_s_own_words_are_understood():
    _, request = asked("request-13669.jdf")
    assert (request["request_id"], request["events"]) == ("13669", 20_000)
    assert request["environment"] == {"notify_user": "someone"}


def test_a_gatekeeper_lets_these_words_through_and_they_mean_the_same():
    assert {"Attribute: runjob_numevts", "Attribute: request_id"} <= set(rvf().splitlines())
    said = {JOB_TYPE.replace("_", ""): ["dzero_monte_carlo"], "runjobnumevts": ["750"], "runjobrequestid": ["13669"]}
    request = attributes_of({**said, "d0releaseversion": ["p14.07.00"], "uniqid": ["7"]})
    assert (request["events"], request["request_id"], request["d0_release_version"]) == (750, "13669", "p14.07.00")
    assert not request.keys() & {"runjobnumevts", "runjob_numevts"}


def test_the_page_shows_the_example():
    page = (HOME / "docs/requests.md").read_text()
    assert "".join(f"    {line}\n" for line in JDF.splitlines()[1:]) in page


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [
        ("runjob_numevts      = 20000", "runjob_numevts = many", "line 11, column 1: events: expected a whole number"),
        ("runjob_requestid    = 13669", "", "request_id: missing"),
        ("instances           = 1", "instances = 2", "line 7, column 1: instances: expected at least 1 and at most 1"),
        ("group    ", "events = 3\ngroup", "line 12, column 1: runjob_numevts: given twice, once as events"),
        ("group    ", "Request_ID = 3\ngroup", "line 11, column 1: runjob_requestid: given twice, once as Request_ID"),
        ("+notify_user ", "events = 3\n+n ", "line 15, column 1: events: given twice, once as runjob_numevts"),
        (
            "minbias_dataset     = mcc99-p14.07.00-minbias",
            "minbias_dataset = -x",
            "minbias_dataset: '-x' is not possible",
        ),
        ("runjob_numevts ", "runjob_numevents ", "unknown attribute; did you mean 'runjob_numevts'"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(tmp_path, was, now, words):
    assert was in JDF
    file = tmp_path / "request.jdf"
    file.write_text(JDF.replace(was, now))
    with pytest.raises(BadRequest, match=re.escape(words)):
        check(read(file))


def test_mc_runjob_is_told_by_its_command_line():
    handler, request = asked("request-13669.jdf")
    command = handler.command_and_arguments(request, JOB, Piece(751, 250))
    assert list(command) == ["mc_runjob", *WORDS, "--first_event=751", "--events=250", f"--seed={JOB.seed}"]
    again = handler.command_and_arguments(
        request, JOB._replace(attempt=2, recovery=("--skip_event=760",)), Piece(751, 250)
    )
    assert again[-1] == "--skip_event=760"
    assert handler.environment(request) == {
        "SAM_EXPERIMENT": "d0",
        "SAM_UNIVERSE": "prd",
        "SAM_STATION": "manhep",
        "SAM_GROUP": "mcc99",
        "notify_user": "someone",
    }
    elsewhere = handler.command_and_arguments(request | {"program": "/d0/mc_runjob"}, JOB, Piece(751, 250))
    assert elsewhere[0] == "/d0/mc_runjob"


def test_d0runjob_is_told_by_an_ini_file(tmp_path):
    handler, request = asked("request-13669-d0runjob.jdf", events=20_000)
    handler.prepare_work_area(request, tmp_path)
    ini = configparser.ConfigParser(interpolation=None)
    ini.read(tmp_path / "d0runjob.ini")
    assert [f"--{name}={value}" for name, value in ini["workflow"].items()] == WORDS
    command = handler.command_and_arguments(request, JOB, Piece(751, 250))
    ini_file = "input/d0runjob.ini"
    assert list(command) == ["d0runjob", ini_file, "--first_event=751", "--events=250", f"--seed={JOB.seed}"]
    asked("request-13669.jdf")[0].prepare_work_area(asked("request-13669.jdf")[1], tmp_path / "nowhere")  # needs none


@pytest.mark.parametrize(
    ("more", "pieces", "why"),
    [
        ({}, 80, "rule of thumb, 250 events"),
        ({"events": 20_001}, 81, "rule of thumb, 250 events"),
        ({"events_per_job": 100}, 200, "events_per_job of the request"),
        ({"cpu_seconds_per_event": 10.0}, 80, "at most 250 events fit this job type's files (36,000 s of CPU"),
        ({"cpu_seconds_per_event": 360.0}, 200, "36,000 s of CPU per local job, as the site recommends"),
        (
            {"cpu_seconds_per_event": 10.0, "files_per_phase": "several"},
            6,
            "36,000 s of CPU per local job, as the site",
        ),
        ({"files_per_phase": "several"}, 80, "rule of thumb, 250 events"),
    ],
)
def test_events_are_what_a_file_holds(tmp_path, more, pieces, why):
    handler, request = asked("request-13669.jdf", **more)
    found = size(handler, request, Site(state=tmp_path, sizing=Sizing(recommended_cpu_seconds=36_000)))
    assert found.pieces == pieces
    assert why in found.why


def test_more_events_than_a_file_holds_are_refused(tmp_path):
    handler, request = asked("request-13669.jdf", events_per_job=251)
    with pytest.raises(BadRequest, match="events_per_job: 251, more than the 250 that fit this job type's files"):
        size(handler, request, Site(state=tmp_path))


def test_only_the_request_id_is_enough_where_there_is_a_catalogue(tmp_path):
    handler, request = asked("request-13669-d0runjob.jdf")
    assert request["events"] is None
    with pytest.raises(BadRequest, match="cannot look up the events of request id '13669': this site has no catalogue"):
        size(handler, request, Site(state=tmp_path))
    assert not size(handler, request, Site(state=tmp_path, site=General(catalogue="/any"))).pieces


def test_reconstruction_and_merging_name_their_files():
    handler, request = asked("reconstruction.toml")
    command = handler.command_and_arguments(request, JOB, Piece(files=("raw-1",)))
    assert list(command) == ["d0reco", "--release=p17.09.01", "raw-1"]
    handler, request = asked("merge-13669.jdf")
    assert request["splitter"] == "ParentlessMergeBySize"
    command = handler.command_and_arguments(request, JOB, Piece(files=("a", "b")))
    assert list(command) == ["d0merge", "--release=p14.07.00", "--output=merged_12.3", "a", "b"]


# By the stand-ins


def run(place, command, **environment):
    """Run a command of a handler as a local job does, with the stand-ins on the PATH."""
    place.mkdir(exist_ok=True)
    path = f"{STANDINS}:{Path(sys.executable).parent}:/usr/bin:/bin"
    return subprocess.run(
        command, cwd=place, env={"PATH": path, **environment}, capture_output=True, text=True, timeout=60, check=False
    )


def events_in(text):
    return [int(line[:9]) for line in text.splitlines()]


def test_both_ways_make_the_same_files(tmp_path):
    made = []
    for name in ("request-13669.jdf", "request-13669-d0runjob.jdf"):
        handler, request = asked(name, events=20_000)
        place = tmp_path / name
        (place / "input").mkdir(parents=True)
        handler.prepare_work_area(request, place / "input")
        done = run(place, handler.command_and_arguments(request, JOB, Piece(501, 600)))
        assert (done.returncode, done.stderr) == (0, "")
        made.append({each.name: each.read_text() for each in place.glob("*_*")})
    assert made[0] == made[1]
    starts = ("00000501", "00000751", "00001001")  # 250, 250 and 100 events
    names = {f"{phase}_p14.07.00_13669_{start}" for phase in PHASES for start in starts}
    assert made[0].keys() == names | {f"{name}.json" for name in names}
    assert events_in(made[0]["d0sim_p14.07.00_13669_00001001"]) == list(range(1001, 1101))
    about = json.loads(made[0]["d0sim_p14.07.00_13669_00001001.json"])
    assert (about["event_count"], about["file_size"], about["parents"]) == (
        *(100, 12_000),
        ["d0gstar_p14.07.00_13669_00001001"],
    )


def test_what_segfaults_leaves_its_event_and_what_fails_leaves_nothing(tmp_path):
    handler, request = asked("request-13669.jdf")
    trouble = {"STANDIN_TROUBLE": "d0gstar:5:segfault d0gstar:8:segfault d0reco:7:3"}
    recovery = tmp_path / "recovery"
    left = []
    for attempt in (1, 2, 3):
        words = tuple(left[-1].split()[1:]) if left else ()
        job = JOB._replace(attempt=attempt, recovery=words)
        command = handler.command_and_arguments(request, job, Piece(1, 10))
        done = run(tmp_path / str(attempt), command, **trouble, JIM_RECOVERY=str(recovery))
        left.append(recovery.read_text() if recovery.exists() else "")
        recovery.unlink(missing_ok=True)
        if attempt < 3:
            assert done.returncode == 139
    assert left == ["recoverable --skip_event=5\n", "recoverable --skip_event=5 --skip_event=8\n", ""]
    assert (done.returncode, done.stderr) == (3, "d0reco: exit 3 at event 7\n")


def test_reconstruction_makes_a_file_of_each(tmp_path):
    (tmp_path / "raw-1").write_text("        1 raw\n        2 raw\n")
    handler, request = asked("reconstruction.toml")
    command = handler.command_and_arguments(request, JOB, Piece(files=("raw-1",)))
    assert run(tmp_path / "run", command, SAM_STORAGE=str(tmp_path)).returncode == 0
    assert events_in((tmp_path / "run/d0reco_raw-1").read_text()) == [1, 2]
    done = run(tmp_path / "run", command, SAM_STORAGE=str(tmp_path / "elsewhere"))
    assert (done.returncode, "raw-1 was not delivered" in done.stderr) == (1, True)


# All the way: a request, and when it has ended, the merging of what it made


class Site0:
    """A site with the stand-ins on its worker nodes' PATH, and a catalogue."""

    def __init__(self, place):
        self.place, self.state = place, place / "state"
        shutil.copytree(D0.parent / "catalogue", place / "catalogue")
        (place / "storage").mkdir()
        self.state.mkdir(mode=0o700)
        settings = f'[site]\ncatalogue = "{place}/catalogue"\n[batch]\nslots = 4\nquery_seconds = 0.5\n'
        settings += '[limits]\nretry_delay = "PT1S"\n'
        (self.state / "site.toml").write_text(settings)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("JIM_")}
        path = f"{STANDINS}:{Path(sys.executable).parent}:{kept['PATH']}"
        self.environment = {**kept, "PATH": path, "JIM_STATE": str(self.state), "JIM_PYTHON": sys.executable}

    def say(self, *words):
        done = subprocess.run(
            words, cwd=self.place, env=self.environment, capture_output=True, text=True, timeout=500, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stderr}{done.stdout}"
        return done.stdout

    def jim(self, *words):
        return self.say(str(HOME / "shell/jim"), *words)

    def submit(self, jdf):
        (self.place / "request.jdf").write_text(jdf)
        return self.jim("submit", "request.jdf").strip()

    def tar(self, grid):
        """Give the contents of a grid job's tar, by name."""
        with tarfile.open(self.state / f"work/{grid}/result/{grid}.tar") as tar:
            chosen = [each for each in tar if not each.name.startswith("jim/")]
            return {each.name: tar.extractfile(each).read().decode() for each in chosen}

    def check_and_merge(self, events, missing):
        """Check the tar of grid job 1, declare what it made, merge that, and check the tar of the merging."""
        brought = self.tar(1)
        starts = range(1, events + 1, 250)
        names = {
            f"1.{n}/{phase}_p14.07.00_13669_{start:08d}{ending}"
            for n, start in enumerate(starts)
            for phase in PHASES
            for ending in ("", ".json")
        }
        plain = {f"1.{n}/{name}_13669_{n:04d}" for n in range(len(starts)) for name in ("stdout", "stderr")}
        assert brought.keys() == names | plain | {"summary.json"}
        good = [event for event in range(1, events + 1) if event not in missing]
        for phase in PHASES:
            found = [
                event
                for name in sorted(names)
                if f"/{phase}_" in name and "." not in name[-8:]
                for event in events_in(brought[name])
            ]
            assert sorted(found) == good
        tar = f"{self.state}/work/1/result/1.tar"
        words = ("sam_store", tar, "d0reco_*", "storage", "catalogue", "request-13669-d0reco")
        assert self.say(*words) == f"request-13669-d0reco: {len(starts)} files, {len(good)} events\n"
        merge = (D0 / "merge-13669.jdf").read_text() + f"+SAM_STORAGE = {self.place}/storage\n"
        assert self.submit(merge) == "2"
        self.jim("watch", "2")
        merged = self.tar(2)
        assert merged.keys() == {
            *("2.0/merged_2.0", "2.0/merged_2.0.json", "summary.json"),
            *(f"2.0/{name}_request-13669-d0reco_0000" for name in ("stdout", "stderr")),
        }
        assert events_in(merged["2.0/merged_2.0"]) == good
        assert len(merged["2.0/merged_2.0"]) == 80 * len(good)


@pytest.fixture
def site(tmp_path):
    there = Site0(tmp_path)
    yield there
    (tmp_path / "gate").touch()  # what still waits goes on, and ends
    shutil.rmtree(there.state, ignore_errors=True)  # its keeper and its local batch system end


def test_a_request_with_a_segfault_and_then_its_merging(site):
    gate = site.place / "gate"
    more = f"+STANDIN_TROUBLE = d0gstar:117:segfault\n+STANDIN_GATE = {gate}\n"
    assert site.submit(JDF.replace("= 20000", "= 750") + more) == "1"
    while "generator 750 of 750 events" not in (said := site.jim("show", "1")):
        assert "failed" not in said
        time.sleep(0.3)
    assert not re.search("^phase +d0gstar", said, re.MULTILINE)
    assert site.jim("xml", "1").count('name="generator" done="250" total="250" unit="events"') == 3
    gate.touch()
    site.jim("watch", "1")
    shown = site.jim("show", "1")
    assert [" ".join(line.split()) for line in shown.splitlines() if line.startswith("phase")] == [
        f"phase {phase} 750 of 750 events" for phase in PHASES
    ]
    assert "request id 13669 has 20,000 events, of which the request asks for 750" in shown
    assert re.findall(r"^(1\.\d) +completed +(\d)", shown, re.MULTILINE) == [("1.0", "2"), ("1.1", "1"), ("1.2", "1")]
    assert "attempt 1: signal 11, recoverable" in site.jim("show", "1.0")
    site.check_and_merge(750, missing={117})


@pytest.mark.torture
@pytest.mark.parametrize("name", ["request-13669.jdf", "request-13669-d0runjob.jdf"])
def test_the_whole_request_becomes_80_local_jobs_and_one_merged_file(site, name):
    """The second one gives only its request id: the catalogue knows that they are 20,000 events."""
    trouble = "+STANDIN_TROUBLE = d0gstar:117:segfault d0reco:19999:segfault\n"
    assert site.submit((D0 / name).read_text() + trouble) == "1"
    site.jim("watch", "1")
    assert len(json.loads(site.jim("show", "1", "--all", "--json"))["local_jobs"]) == 80
    site.check_and_merge(20_000, missing={117, 19_999})

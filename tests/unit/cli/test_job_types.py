"""jim types: what is told of job types is what their handlers declare, also of a site's own."""

from __future__ import annotations

import pytest

from jim.handlers.base import COMMON

JIMS = ["cdf_concatenation", "cdf_monte_carlo", "dzero_merge", "dzero_monte_carlo", "dzero_reconstruction"]
JIMS += ["executable", "parametric", "pythia_monte_carlo", "sam_analysis"]
OWN = '''
"""Throws darts."""

from jim.handlers.base import Attribute, Handler


class Darts(Handler):
    """One event is one dart."""

    attributes = {
        "board": Attribute(str, "what is aimed at", default="\\x1b[2J", allowed=("\\x1b[2J", "wood | cork")),
        "least": Attribute(int, "no fewer", maximum=5),
        "events": Attribute(int, "darts", required=True, minimum=1),
    }
    phases = ("aim", "throw")
    cpu_seconds_per_event = 0.5


HANDLER = Darts
'''


@pytest.fixture
def own(home, tmp_path, monkeypatch):
    """A site with job types of its own: one that works, five that cannot be loaded, and modules that are none."""
    place = tmp_path / "own"
    (place / "jtmine").mkdir(parents=True)
    (place / "jtmine/darts.py").write_text(OWN.lstrip())
    (place / "jtmine/broken.py").write_text("HANDLER = Darts\n")
    (place / "jtmine/typo.py").write_text("class HANDLER(:\n")
    (place / "jtmine/raises.py").write_text("raise RuntimeError('no licence')\nHANDLER = 1\n")
    (place / "jtmine/ends.py").write_text("raise SystemExit('no licence')\nHANDLER = 1\n")
    (place / "jtmine/reads.py").write_text("open('/no/such/licence')\nHANDLER = 1\n")
    (place / "jtmine/adapter.py").write_text("raise SystemExit('it must not be loaded')\n")
    (place / "alone.py").write_text("class HANDLER: ...\n")
    (home.site.state / "site.toml").write_text(f'[site]\nhandlers = "{place}"\n')
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    return home


def test_all_are_listed(home):
    assert [each["name"] for each in home.json("types")] == JIMS
    lines = home.out("types").splitlines()
    assert lines[0].split() == ["job", "type", "purpose"]
    assert lines[6].startswith("executable            Any program")


def test_what_samgrid_called_it_is_told(home):
    attributes = {each["name"]: each for each in home.json("types", "dzero_monte_carlo")["attributes"]}
    assert (attributes["events"]["also"], attributes["minbias_dataset"]["names"]) == (["runjob_numevts"], "dataset")
    assert "in JDF, JDL and RSL also runjob_requestid" in " ".join(home.out("types", "dzero_monte_carlo").split())


def test_a_site_s_own_are_listed_and_a_broken_one_does_not_hide_them(own):
    told = {each["name"]: each["about"] for each in own.json("types")}
    assert told.keys() == {*JIMS, *(f"jtmine.{one}" for one in ("darts", "broken", "typo", "raises", "ends", "reads"))}
    assert told["jtmine.darts"] == "Throws darts."
    assert told["jtmine.typo"].startswith("job_type: cannot load 'jtmine.typo'")
    assert "'Darts' is not defined" in told["jtmine.broken"]
    assert "RuntimeError: no licence (raises.py, line 1)" in told["jtmine.raises"]
    assert "/no/such/licence" in told["jtmine.reads"]
    assert "SystemExit: no licence (ends.py, line 1)" in told["jtmine.ends"]


def test_one_is_told_with_all_it_declares(own):
    one = own.json("types", "jtmine.darts")
    assert (one["more"], one["phases"], one["events_per_job"]) == ("One event is one dart.", ["aim", "throw"], 250)
    attributes = {each["name"]: each for each in one["attributes"]}
    assert attributes.keys() == {*COMMON, "board", "least", "events"}
    assert attributes["events"] == {
        "name": "events",
        "kind": "whole number",
        "required": True,
        "default": None,
        "minimum": 1,
        "maximum": None,
        "pattern": "",
        "allowed": [],
        "names": "",
        "also": [],
        "help": "darts",
        "common": False,
    }
    assert attributes["board"]["allowed"] == ["\x1b[2J", "wood | cork"]
    assert attributes["key"]["common"]


def test_it_is_shown_with_its_own_attributes_first_and_nothing_that_a_terminal_obeys(own):
    shown = own.out("types", "jtmine.darts")
    assert "\x1b" not in shown
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert lines[:4] == [
        *("jtmine.darts: Throws darts.", "One event is one dart.", "phases aim, throw"),
        "CPU time 0.5 s for each event",
    ]
    assert "least whole number no fewer; at most 5" in lines
    assert "events whole number required darts; at least 1" in lines
    assert r"board text \x1b[2J what is aimed at; one of \x1b[2J, wood | cork" in lines
    names = [line.split()[0] for line in lines if " text " in line or " number " in line]
    assert names[:4] == ["board", "least", "events", "job_type"]


def test_a_description_may_name_one(own, tmp_path):
    file = tmp_path / "request.jdf"
    file.write_text("job_type = jtmine.darts\nevents = 30\n+AIM = high\n")
    assert own.json("submit", str(file), "--dry-run")["events"] == 30
    assert "unknown job type" not in own.run("split", str(file))[2]


def test_an_unknown_one_is_refused_with_the_nearest(own):
    code, out, err = own.run("types", "jtmine.dart")
    assert (code, out) == (2, "")
    assert "did you mean 'jtmine.darts'?" in err
    assert "did you mean 'parametric'?" in own.run("types", "Parametrics")[2]


def test_a_module_of_the_site_that_is_no_job_type_is_not_even_loaded(own):
    told = "jim: job_type: 'jtmine.adapter' is no job type: its file has no line `HANDLER = …`\n"
    assert own.run("types", "jtmine.adapter") == (2, "", told)

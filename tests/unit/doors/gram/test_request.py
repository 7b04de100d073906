"""GRAM's descriptions as requests."""

import time
from pathlib import Path

import pytest

from jim.doors.gram.request import apart, attributes_of, require_end
from jim.errors import BadRequest, BadSite
from jim.request import check
from tests.gram.script import call, description

# Descriptions


@pytest.fixture(autouse=True)
def _home(monkeypatch):
    monkeypatch.setenv("HOME", "/d")  # GRAM's default for the directory


def request_of(**more):
    return check(attributes_of(description(Path("/d"), **more)))[1]


def test_a_description_becomes_a_request():
    asked = request_of(
        project=["cms"], maxwalltime=["5"], maxmemory=["200"], cores=["2"], executable=["bin/run"], outputs=["a", "b"]
    )
    wanted = {"account": "cms", "wall_seconds": 300, "memory_mb": 200, "cores": 2, "executable": "/d/bin/run"}
    assert {name: asked[name] for name in wanted} == wanted
    assert asked["outputs"] == ["a", "b"]


def test_a_count_is_so_many_runs_or_processors():
    asked = request_of(count=["3"])
    assert (asked["job_type"], asked["arguments"], asked["argument_sets"]) == ("parametric", ["hello"], [[], [], []])
    assert request_of(count=["3"], jobtype=["single"])["cores"] == 3
    with pytest.raises(BadRequest, match="count: 3: expected 1, because this job type decides how many"):
        request_of(count=["3"], jimjobtype=["pythia_monte_carlo"])
    with pytest.raises(BadRequest, match=r"expected NAME\.tar"):
        request_of(count=["3"], filestageout=[["result.dat", "https://x/r"]])


def test_a_text_is_a_truth_value():
    assert request_of(keepgoing=["true"])["keep_going"] is True
    assert request_of(keepgoing=["FALSE"])["keep_going"] is False
    with pytest.raises(BadRequest, match="keep_going: expected true or false, found 'yes'"):
        request_of(keepgoing=["yes"])


def test_one_thing_is_said_by_one_name():
    assert request_of(maxtime=["2"])["wall_seconds"] == 120
    with pytest.raises(BadRequest, match="max_time: given together with max_wall_time, which has the same meaning"):
        request_of(maxtime=["2"], maxwalltime=["2"])
    with pytest.raises(BadRequest, match="wall_seconds: given together with max_time, which has the same meaning"):
        request_of(maxtime=["2"], wallseconds=["120"])


def test_what_is_to_be_staged_out_is_brought_back():
    pairs = [["result.dat", "https://x/r"], ["all.tar", "https://x/t"], ["/etc/motd", "https://x/m"]]
    assert request_of(filestageout=pairs)["outputs"] == ["result.dat"]


def test_what_was_staged_in_is_sent_along():
    told = description(Path("/d"), jimstagedin=["a.dat", "/abs/b", "a.dat"])
    assert attributes_of(told)["inputs"] == ["/d/a.dat", "/abs/b"]


def test_a_file_for_stdin_is_sent_along(place):
    for none in (["/dev/null"], [""], None):
        assert request_of(stdin=none)["stdin"] is None
    assert request_of(stdin=["cards"])["stdin"] == "/d/cards"
    assert request_of(stdin=["/abs/cards"], count=["3"])["stdin"] == "/abs/cards"
    with pytest.raises(BadRequest, match="stdin: '/x': expected none, because the job type pythia_monte_carlo reads"):
        request_of(stdin=["/x"], jimjobtype=["pythia_monte_carlo"], events=["3"])
    (place.directory / "dir").mkdir()
    (place.directory / "secret").touch(0)
    for name, words in (("none", "stdin: cannot read {}: No such file"), ("dir", "stdin: {} is not a regular file")):
        said = call(place, "submit", stdin=[name])
        assert said.startswith(f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{words.format(place.directory / name)}"), said


def test_a_program_runs_in_the_directory_that_is_named(place, tmp_path, monkeypatch):
    """GRAM's default, the home, and GRAM's scratch directory of this job alone are as good as none."""
    scratch = [["SCRATCH_DIRECTORY", "/tmp/scratch"]]
    home = tmp_path / "home"
    home.symlink_to("/d")
    assert request_of(directory=[str(home)])["directory"] is None
    assert (
        request_of(directory=["/tmp/scratch/"], scratchdir=["/tmp"], environment=scratch, count=["3"])["job_type"]
        == "parametric"
    )
    own = request_of(directory=["/tmp/mine"], jimstagedin=["cards"])
    assert (own["directory"], own["executable"], own["inputs"]) == ("/tmp/mine", "/bin/echo", None)
    for more in ({"count": ["2"]}, {"jimjobtype": ["parametric"], "argumentsets": [["a"]]}):
        with pytest.raises(BadRequest, match="directory: '/tmp/mine': goes only with one run of one program; leave it"):
            request_of(directory=["/tmp/mine"], **more)
    with pytest.raises(BadRequest, match="directory: goes only with one local job, because several would write"):
        request_of(directory=["/tmp/mine"], splitter=["LumiBased"], inputfiles=["[]"])
    said = call(place, "submit", directory=["/no/such/place"])
    assert said.startswith("GRAM_SCRIPT_GT3_FAILURE_MESSAGE:directory: cannot enter /no/such/place: No such file")
    assert said.endswith("\nGRAM_SCRIPT_ERROR:48\n\n")


def test_what_RSL_cannot_write_is_JSON(place):
    asked = request_of(splitter=["LumiBased"], splitterparameters=['{"lumis_per_job": 2}'])
    assert asked["splitter_parameters"] == {"lumis_per_job": 2}
    sets = request_of(jimjobtype=["parametric"], argumentsets=[["a", "b"], ["c"]])
    assert sets["argument_sets"] == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("project", ["x;y"], "project (account): 'x;y' is not possible"),
        ("maxwalltime", ["0"], "max_wall_time (wall_seconds): expected at least 1"),
        ("maxtime", ["0"], "max_time (wall_seconds): expected at least 1"),
        ("wallseconds", ["0"], "wall_seconds: expected at least 1"),
        ("queue", ["-x"], "queue: '-x' is not possible"),
        ("maxmemory", ["900000000"], "max_memory (memory_mb): "),
        ("filestageout", [["../x", "https://x/x"]], "file_stage_out: '../x' must be a name inside the directory"),
        ("outputs", ["../x"], "outputs: '../x' must be a name or pattern"),
    ],
)
def test_a_door_refuses_by_the_name_that_was_said(place, name, value, words):
    said = call(place, "submit", **{name: value})
    assert said.startswith(f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{words}")
    assert said.endswith("\nGRAM_SCRIPT_ERROR:48\n\n")
    assert not list((place.state / "inbox").glob("request-*"))


def test_a_job_of_whose_end_nobody_would_hear_is_refused(monkeypatch, tmp_path):
    service = tmp_path / "jobmanager-samgrid"
    monkeypatch.setattr("jim.doors.gram.request.SERVICE", service)
    asked = description(tmp_path)
    require_end(asked, "")
    service.write_text("globus-job-manager -type samgrid\n")
    require_end(asked, "")
    service.write_text("globus-job-manager -type samgrid -seg-module samgrid\n")
    require_end(asked, "/var/lib/globus/globus-seg-samgrid")
    with pytest.raises(
        BadSite, match="GRAM would not learn of the end, because no keeper of this account writes its events"
    ):
        require_end(asked, "")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("count", ["0"], "count: expected 1 to 100,000, found '0'"),
        ("count", ["many"], "count: expected 1 to 100,000, found 'many'"),
        ("jobtype", ["mpi"], "job_type: 'mpi'"),
        ("maxcputime", ["3"], "max_cpu_time: '3': not possible here; use max_wall_time"),
        ("maxwalltime", ["soon"], "max_wall_time: expected a whole number, found 'soon'"),
        ("maxwalltime", ["0"], "wall_seconds: expected at least 1"),
        ("cores", ["2_0"], "cores: expected a whole number, found '2_0'"),
        ("events", ["3"], "'events': unknown attribute"),
        ("queue", ["a", "b"], "queue: expected one value"),
        ("environment", [["LD_PRELOAD", "x"]], "environment: a request may not set LD_PRELOAD"),
        ("environment", [["A", "b"], ["A"]], 'environment: expected pairs, such as (NAME text), found ["A"]'),
        ("environment", [["A", "b"], "C"], 'environment: expected pairs, such as (NAME text), found "C"'),
        ("environment", [["A", ["b"]]], "environment: expected a table of texts"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(name, value, words):
    with pytest.raises(BadRequest) as refused:
        request_of(**{name: value})
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("argument", "path"),
    [
        ("-f=/d/.globus/.gass_cache/local/x", "/d/.globus/.gass_cache/local/x"),
        ("a b/c/.gass_cache/x y", "/c/.gass_cache/x"),
        ("/d/.gass_cache/x/.gass_cache/", "/d/.gass_cache/x/.gass_cache/"),
        ("//.gass_cache/x", "//.gass_cache/x"),
        ("/.gass_cache/x", ""),
        ("/d/.gass_cache/", ""),
        ("d/.gass_cache", ""),
    ],
)
def test_a_file_of_the_cache_may_differ_if_a_job_is_handed_in_again(argument, path):
    assert apart(description(Path("/d"), jobdir=None, arguments=["x", argument]))["places"] == ([path] if path else [])


def test_an_argument_of_many_slashes_holds_up_nobody():
    """One process of GRAM serves all jobs of an account, and waits for the door."""
    began = time.process_time()
    apart(description(Path("/d"), arguments=["/" * 32_000] * 30))
    assert time.process_time() - began < 1

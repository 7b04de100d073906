"""What people see of splitting before anything is handed in."""

import json

import pytest

from tests.support.splitting_work import ASKED, FILES


def test_pieces_are_shown(home, tmp_path):
    file = tmp_path / "r.json"
    asked = {"job_type": "executable", "executable": "/bin/x", "splitter": "LumiBased", "input_files": FILES}
    file.write_text(json.dumps(asked | {"arguments": ["$SplitID"]}))
    (_, first, second, _) = home.out("split", str(file), "-p", "lumis_per_job=2").splitlines()
    assert first.split() == ["0", "/a", "run", "1", "lumis", "1-2", "0"]
    assert second.split() == ["1", "/a", "run", "1", "lumis", "3", "1"]
    pieces = home.json("split", str(file), "--with", "FileBased", "-p", 'siteBlacklist=["B"]')
    assert [(each["files"], "failure" in each) for each in pieces] == [(["/a"], False), (["/b"], True)]
    assert home.run("split", str(file), "-p", "lumis_per_job=0")[0] == 2
    assert home.run("split", str(file), "-p", "lumis_per_job")[0] == 2


def test_what_is_particular_to_a_piece_is_shown(home, tmp_path):
    file = tmp_path / "r.json"
    asked = {"job_type": "executable", "executable": "/bin/x", "environment": {"SEED": "0"}}
    file.write_text(json.dumps(asked))
    scan = ["split", str(file), "--with", "Parametric", "-p", "Parameters=2", "-p", "ParameterStep=0.5"]
    assert [line.split() for line in home.out(*scan).splitlines()[1:]] == [
        ["0", "Parameter=1.0"],
        ["1", "Parameter=1.5"],
    ]
    queues = [
        "split",
        str(file),
        "--with",
        "GenericSplitter",
        "-p",
        "attribute=queue",
        "-p",
        'values=["short", "long"]',
    ]
    assert [line.split() for line in home.out(*queues).splitlines()[1:]] == [["0", "queue=short"], ["1", "queue=long"]]


def test_what_a_request_cannot_be_split_by_is_said(home, tmp_path):
    file = tmp_path / "r.json"
    file.write_text(json.dumps(ASKED | {"splitter": "Parametric", "splitter_parameters": 5}))
    code, _, told = home.run("split", str(file), "-p", "Parameters=2")
    assert code == 2
    assert told == "jim: splitter_parameters: expected a table, found 5 (parameters of the splitter)\n"
    file.write_text(json.dumps({"job_type": "pythia_monte_carlo", "events": 500}))
    for how in ([], ["--with", "EventBased"], ["-p", "events_per_job=1"]):
        code, _, told = home.run("split", str(file), *how)
        assert code == 2
        assert told == "jim: the job type pythia_monte_carlo takes no splitter: it makes its local jobs itself\n"


def test_a_fileset_is_split(home, tmp_path):
    file = tmp_path / "files.json"
    file.write_text(json.dumps({"files": FILES}))
    assert [each["sites"] for each in home.json("split", str(file), "--with", "FileBased")] == [["A"], ["B"]]
    file.write_text(json.dumps({"files": FILES, "storage_to_sites": {"A": ["s"]}, "fileset": {"open": False}}))
    assert [each["sites"] for each in home.json("split", str(file), "--with", "FileBased")] == [["s"], []]
    assert "use --with" in home.run("split", str(file))[2]
    assert "splits requests" in home.run("split", str(file), "--with", "ArgSplitter")[2]
    file.write_text(json.dumps({"files": []}))
    assert home.run("split", str(file), "--with", "FileBased")[0] == 2
    for fileset, why in (({}, "; the fileset is open, and too few files for a job wait"), ({"open": False}, "")):
        file.write_text(json.dumps({"files": FILES, "fileset": fileset}))
        told = home.run("split", str(file), "--with", "WMBSMergeBySize")[2]
        assert told == f"jim: files: WMBSMergeBySize makes no job of this{why}\n"


@pytest.mark.parametrize(
    ("events", "last"),
    [(50, "49"), (51, "… and 1 more (--json shows them)"), (60, "… and 10 more"), (10**17, "… and more than 10 more")],
)
def test_pieces_are_counted_as_long_as_that_has_an_end(home, tmp_path, monkeypatch, events, last):
    monkeypatch.setattr("jim.cli.split.COUNTED", 10)
    file = tmp_path / "files.json"
    file.write_text(json.dumps({"files": [{"lfn": "a", "events": events}]}))
    told = home.out("split", str(file), "--with", "EventBased", "-p", "events_per_job=1").splitlines()
    assert len(told) == 51 + (events > 50)
    assert told[-1].startswith(last)


def test_a_dry_run_says_who_splits(home, tmp_path):
    file = tmp_path / "r.json"
    asked = {"job_type": "executable", "executable": "/bin/x", "splitter": "LumiBased", "input_files": FILES}
    file.write_text(json.dumps(asked))
    assert "as many as the splitter makes" in home.out("submit", str(file), "--dry-run")
    (home.site.state / "site.toml").write_text('[batch]\nsystem = "slurm"\n')  # has as many cores as anybody asks for
    file.write_text(json.dumps(asked | {"memory_mb": "1$SplitID", "wall_seconds": "9$SplitID", "cores": "1$SplitID"}))
    told = "at most 9$SplitID s each, 1$SplitID MB, 1$SplitID cores"
    assert told in home.out("submit", str(file), "--dry-run")


def test_a_variable_that_stays_is_told_by_whatever_reads_the_request(home, tmp_path):
    file = tmp_path / "request.toml"
    file.write_text(
        'job_type = "executable"\nexecutable = "/bin/sh"\narguments = ["-c", "echo $Parameter of $x"]\n'
        'splitter = "Parametric"\nsplitter_parameters = { Parameters = 2 }\n'
    )
    for words in (["split", str(file)], ["submit", "--dry-run", str(file)], ["submit", str(file)]):
        code, _, err = home.run(*words)
        assert (code, err.startswith("jim: warning: arguments: all of it stays as it is, ")) == (0, True)
    file.write_text(file.read_text().replace("$x", "$$x"))
    assert home.run("split", str(file))[2] == ""

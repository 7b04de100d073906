"""jim arc."""

from __future__ import annotations

import io
import json

import pytest

from jim.admin import arc_information, arc_proof, arc_service
from jim.admin.finding import FAILED, OK, Finding
from jim.cli import connection_findings, main

GOOD = Finding("Perl module", OK, "Perl can load the module")
BAD = Finding("lrms", FAILED, "not so: lrms", "run `jim arc register` as root")


@pytest.mark.parametrize(("found", "code"), [([GOOD], 0), ([GOOD, BAD], 3)])
def test_a_check_exits_3_only_if_something_is_wrong(found, code, monkeypatch, capsys):
    monkeypatch.setattr(arc_service, "findings", lambda site: found)
    assert main(["arc", "check", "--no-job"]) == code
    assert len(capsys.readouterr().out.splitlines()) == len(found)
    assert main(["arc", "check", "--no-job", "--json"]) == code
    assert json.loads(capsys.readouterr().out)["ok"] is (code == 0)


def test_root_is_told_that_no_job_was_tried(monkeypatch, capsys):
    monkeypatch.setattr(arc_service, "findings", lambda site: [GOOD])
    monkeypatch.setattr(connection_findings.os, "getuid", lambda: 0)
    monkeypatch.setattr("jim.site.whose.refuse_unusable", lambda place: None)
    assert main(["arc", "check"]) == 0
    told = capsys.readouterr().out.splitlines()[1]
    assert told.startswith("warning  job: no job was tried, because root called this check; run `jim arc check` as")


@pytest.mark.parametrize("uid", [0, 1000])
def test_without_the_gatekeeper_no_job_is_tried_and_nothing_else_is_said(home, uid, monkeypatch):
    """The job's own failure hid what was missing, or was all that was said."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("ARC_LOCATION", "/nowhere")
    monkeypatch.setattr(connection_findings.os, "getuid", lambda: uid)
    monkeypatch.setattr("jim.site.whose.refuse_unusable", lambda place: None)
    assert main(["arc", "check"]) == 3
    (line,) = home.capsys.readouterr().out.splitlines()
    assert line.startswith("failed   A-REX: ")
    assert line.count("install ") == 1


def test_each_file_that_is_made_or_removed_is_reported(monkeypatch, capsys):
    monkeypatch.setattr(arc_service, "register", lambda site: iter(["wrote a"]))
    monkeypatch.setattr(arc_service, "unregister", lambda site: iter(["removed a", "removed b"]))
    assert main(["arc", "register"]) == 0
    assert main(["arc", "unregister"]) == 0
    assert capsys.readouterr().out == "wrote a\nremoved a\nremoved b\n"


def test_information_is_about_the_ids_on_stdin(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("1000.1\n1000.2\n"))
    monkeypatch.setattr(arc_information, "lines", lambda site, ids: (f"job {each}" for each in ids))
    assert main(["arc", "info"]) == 0
    assert capsys.readouterr().out == "job 1000.1\njob 1000.2\n"


def test_the_proof_needs_a_client(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(arc_service, "places", lambda: arc_service.Places(tmp_path, tmp_path / "arc.conf", None))
    found = arc_proof.with_a_job({})
    assert (found.name, found.level) == ("job", "warning")
    assert "there is no arcsub here" in found.said


@pytest.mark.parametrize("words", [(), ("nosuch",), ("register", "--events")])
def test_a_wrong_command_line_is_refused(words, capsys):
    assert main(["arc", *words]) == 2
    assert capsys.readouterr().err.startswith("jim: ")

"""jim ce."""

import json

import pytest

from jim.admin import ce_proof, ce_service
from jim.admin.finding import FAILED, OK, Finding
from jim.cli import ce, main

GOOD = Finding("scripts", OK, "there")
BAD = Finding("route", FAILED, "not so: route", "run `jim ce register` as root")
JOB = Finding("job", OK, "a job came through")


@pytest.mark.parametrize(("found", "code"), [([GOOD], 0), ([GOOD, BAD], 3)])
@pytest.mark.parametrize("uid", [0, 1000])
def test_a_check_submits_a_job_unless_root_asks_and_exits_3_if_something_is_wrong(home, found, code, uid, monkeypatch):
    monkeypatch.setattr(ce_service, "findings", lambda site: found)
    monkeypatch.setattr(ce_proof, "with_a_job", lambda: JOB)
    monkeypatch.setattr(ce.os, "getuid", lambda: uid)
    monkeypatch.setattr("jim.site.whose.refuse_unusable", lambda place: None)
    assert main(["ce", "check", "--json"]) == code
    document = json.loads(home.capsys.readouterr().out)
    *others, job = document["checks"]
    assert [each["name"] for each in others] == [each.name for each in found]
    proved = ("ok", "a job came through", "")
    not_as_root = (
        "warning",
        "no job was tried, because root called this check",
        "run `jim ce check` as an account that may submit jobs",
    )
    assert (job["level"], job["said"], job["todo"]) == (proved if uid else not_as_root)
    assert main(["ce", "check", "--no-job"]) == code
    assert len(home.capsys.readouterr().out.splitlines()) == len(found)


@pytest.mark.parametrize("uid", [0, 1000])
def test_without_the_gatekeeper_no_job_is_tried_and_nothing_else_is_said(home, uid, monkeypatch):
    """The job's own failure hid what was missing, or was all that was said."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("ARC_LOCATION", "/nowhere")
    monkeypatch.setattr(ce.os, "getuid", lambda: uid)
    monkeypatch.setattr("jim.site.whose.refuse_unusable", lambda place: None)
    assert main(["ce", "check"]) == 3
    (line,) = home.capsys.readouterr().out.splitlines()
    assert line.startswith(f"failed   {ce_service.ABSENT}: ")
    assert line.count("install ") == 1


def test_each_file_that_is_made_or_removed_is_reported(home, monkeypatch):
    monkeypatch.setattr(ce_service, "register", lambda: iter(["wrote a"]))
    monkeypatch.setattr(ce_service, "unregister", lambda: iter(["removed a"]))
    assert main(["ce", "register"]) == main(["ce", "unregister"]) == 0
    assert home.capsys.readouterr().out == "wrote a\nremoved a\n"


@pytest.mark.parametrize("words", [(), ("nosuch",), ("register", "--events", "me")])
def test_a_wrong_command_line_is_refused(words, capsys):
    assert main(["ce", *words]) == 2
    assert capsys.readouterr().err.startswith("jim: ")

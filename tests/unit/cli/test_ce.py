"""jim ce."""

import json

import pytest

from jim.admin import ce_proof, ce_service
from jim.admin.finding import FAILED, OK, Finding
from jim.cli import connection_findings, main

GOOD = Finding("scripts", OK, "there")
BAD = Finding("route", FAILED, "not so: route", "run `jim ce register` as root")
JOB = Finding("job", OK, "a job came through")


@pytest.fixture(params=[0, 1000])
def uid(request, monkeypatch):
    """Root, or an account."""
    monkeypatch.setattr(connection_findings.os, "getuid", lambda: request.param)
    monkeypatch.setattr("jim.site.whose.refuse_unusable", lambda place: None)
    return request.param


def test_a_check_submits_a_job_unless_root_asks(home, uid, monkeypatch):
    monkeypatch.setattr(ce_service, "findings", lambda site: iter([GOOD]))
    monkeypatch.setattr(ce_proof, "with_a_job", lambda: JOB)
    assert main(["ce", "check", "--json"]) == 0
    document = json.loads(home.capsys.readouterr().out)
    others, job = document["checks"]
    assert others["name"] == "scripts"
    proved = ("ok", "a job came through", "")
    not_as_root = (
        "warning",
        "no job was tried, because root called this check",
        "run `jim ce check` as an account that may submit jobs",
    )
    assert (job["level"], job["said"], job["todo"]) == (proved if uid else not_as_root)
    assert main(["ce", "check", "--no-job"]) == 0
    assert len(home.capsys.readouterr().out.splitlines()) == 1


def test_through_an_incomplete_connection_no_job_is_sent_which_would_be_waited_for_in_vain(home, uid, monkeypatch):
    monkeypatch.setattr(ce_service, "findings", lambda site: iter([GOOD, BAD]))
    monkeypatch.setattr(ce_proof, "with_a_job", pytest.fail)
    assert main(["ce", "check"]) == 3
    answer = home.capsys.readouterr()
    assert ([line[:16] for line in answer.out.splitlines()], answer.err) == (
        ["ok       scripts", "failed   route: "],
        "",
    )


def test_what_is_found_is_shown_before_the_job_is_waited_for_and_so_is_the_waiting(home, monkeypatch):
    seen = []

    def with_a_job():
        seen.append(home.capsys.readouterr())
        return JOB

    monkeypatch.setattr(connection_findings.os, "getuid", lambda: 1000)
    monkeypatch.setattr(ce_service, "findings", lambda site: iter([GOOD]))
    monkeypatch.setattr(ce_proof, "with_a_job", with_a_job)
    assert main(["ce", "check"]) == 0
    assert seen == [
        ("ok       scripts: there\n", "a job is on its way through the gatekeeper: some two minutes, at most ten\n")
    ]


def test_without_the_gatekeeper_no_job_is_tried_and_nothing_else_is_said(home, uid, monkeypatch):
    """The job's own failure hid what was missing, or was all that was said."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("ARC_LOCATION", "/nowhere")
    assert main(["ce", "check"]) == 3
    (line,) = home.capsys.readouterr().out.splitlines()
    assert line.startswith("failed   HTCondor-CE: ")
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

"""jim gram."""

from __future__ import annotations

import json

import pytest

from jim.admin import gram_service
from jim.admin.finding import FAILED, OK, Finding
from jim.cli import main

GOOD = Finding("Perl module", OK, "Perl can load the module")
BAD = Finding("job manager", FAILED, "not so: link", "run `jim gram register` as root")


@pytest.mark.parametrize(("found", "code"), [([GOOD], 0), ([GOOD, BAD], 3)])
def test_a_check_exits_3_only_if_something_is_wrong(found, code, monkeypatch, capsys):
    monkeypatch.setattr(gram_service, "findings", lambda: found)
    assert main(["gram", "check"]) == code
    assert len(capsys.readouterr().out.splitlines()) == len(found)
    assert main(["gram", "check", "--json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is (code == 0)
    assert [each["name"] for each in document["checks"]] == [each.name for each in found]


def test_each_file_that_is_made_or_removed_is_reported(monkeypatch, capsys):
    monkeypatch.setattr(gram_service, "register", lambda events: iter([f"wrote for {events}"]))
    monkeypatch.setattr(gram_service, "unregister", lambda: iter(["removed a", "removed b"]))
    assert main(["gram", "register", "--events", "mcprod"]) == 0
    assert main(["gram", "unregister"]) == 0
    assert capsys.readouterr().out == "wrote for mcprod\nremoved a\nremoved b\n"


def test_who_removes_what_is_not_there_is_told(monkeypatch, capsys):
    monkeypatch.setattr(gram_service, "unregister", lambda: iter([]))
    assert main(["gram", "unregister"]) == 0
    assert capsys.readouterr().out == "nothing of JIM's was registered\n"


@pytest.mark.parametrize("words", [(), ("nosuch",), ("register", "--events"), ("check", "--events", "me")])
def test_a_wrong_command_line_is_refused(words, capsys):
    assert main(["gram", *words]) == 2
    assert capsys.readouterr().err.startswith("jim: ")

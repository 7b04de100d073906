"""jim site."""

from __future__ import annotations

import json
import os
import sys

import pytest

from jim.admin import check
from jim.admin.finding import FAILED, WARNING, Finding
from jim.cli import main


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("JIM_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("JIM_SITE", raising=False)
    return tmp_path / "state"


def test_a_site_file_is_written_once_and_never_replaced(state, capsys):
    assert main(["site", "init"]) == 0
    assert capsys.readouterr().out == f"wrote {state}/site.toml; `jim site check` proves that it works\n"
    (state / "site.toml").write_text("# mine\n")
    assert main(["site", "init"]) != 0
    assert "exists already and was not changed" in capsys.readouterr().err
    assert (state / "site.toml").read_text() == "# mine\n"


@pytest.mark.parametrize(("level", "code"), [(WARNING, 0), (FAILED, 3)])
def test_only_a_failure_makes_the_check_fail(state, level, code, monkeypatch, capsys):
    monkeypatch.setattr(check, "findings", lambda: iter([Finding("clock", level, "set back", "synchronise it")]))
    assert main(["site", "check"]) == code
    assert "set back" in capsys.readouterr().out
    assert main(["site", "check", "--json"]) == code
    assert json.loads(capsys.readouterr().out)["ok"] is (code == 0)


@pytest.mark.parametrize("verb", ["moved", "restored"])
def test_where_no_grid_job_ever_was_nothing_can_have_been_moved_or_restored(state, verb, capsys):
    assert main(["site", verb]) == 4
    assert "nothing was moved or restored there" in capsys.readouterr().err


def test_what_restored_says_is_read_before_the_next_step(state, monkeypatch):
    """Into a pipe, too: killed there, the next command does not say what this one has said and stored."""
    (state / "status.db").parent.mkdir()
    (state / "status.db").touch()
    reading, writing = os.pipe()
    heard = []

    def restored(site):
        yield "cancel these batch jobs"
        heard.append(os.read(reading, 100))

    os.set_blocking(reading, False)
    monkeypatch.setattr("jim.admin.restoring.restored", restored)
    monkeypatch.setattr("jim.run_grid_job.wake", lambda state: None)
    with os.fdopen(reading), os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert main(["site", "restored"]) == 0
    assert heard == [b"cancel these batch jobs\n"]

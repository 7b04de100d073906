from __future__ import annotations

import pytest

from jim import cli
from tests.unit.tasks.ground import Ground


@pytest.fixture
def ground(tmp_path, monkeypatch):
    """A keeper driven by hand, whose state directory the command line uses."""
    made = Ground(tmp_path, monkeypatch)
    monkeypatch.setenv("JIM_STATE", str(made.site.state))
    monkeypatch.setattr("jim.reading.view.Clock", lambda: made.clock)
    monkeypatch.setattr("jim.cli.tasks.create.TAKEN_SECONDS", 0)
    monkeypatch.setattr("jim.keeper.waking.wake", lambda _state: None)
    monkeypatch.setattr("jim.keeper.waking.require_keeper", lambda _state: None)
    return made


@pytest.fixture
def jim(ground, capsys):
    """Run a verb and let the keeper take what it has left; return exit code and output."""

    def run(*words):
        code = cli.main(["task", *map(str, words)])
        told = capsys.readouterr()
        ground.go(2)
        return code, told.out + told.err

    return run

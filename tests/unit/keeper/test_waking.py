"""A door starts or calls a keeper; if none could run, the door says what to install."""

import sys

import pytest

from jim.errors import BadSite
from jim.keeper import waking
from jim.keeper.waking import ring
from tests.unit.shell.place import HOME


def test_a_keeper_that_runs_has_its_libraries(place, monkeypatch):
    monkeypatch.setattr(waking, "LIBRARIES", ("no_such_library",))
    place.beat(ago=15)
    waking.require_keeper(place.state)
    place.beat(ago=25)
    with pytest.raises(BadSite):
        waking.require_keeper(place.state)


def test_without_a_python_of_its_own_jim_says_how_to_make_one(monkeypatch):
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    place = HOME / ".venv"
    assert waking.how_to_install(["lxml"]) == (
        f"python3 -m venv {place} && {place}/bin/pip install lxml psutil tenacity rich"
    )


def test_a_call_without_a_keeper_does_nothing(tmp_path):
    ring(tmp_path)
    ring(tmp_path / "nowhere")

"""A door starts or calls a keeper; if none could run, the door says what to install."""

import pytest

from jim.errors import BadSite
from jim.keeper import waking
from jim.keeper.waking import ring
from jim.site import libraries


def test_a_keeper_that_runs_has_its_libraries(place, monkeypatch):
    monkeypatch.setattr(libraries, "LIBRARIES", ("no_such_library",))
    place.beat(ago=15)
    waking.require_keeper(place.state)
    place.beat(ago=25)
    with pytest.raises(BadSite):
        waking.require_keeper(place.state)


def test_a_call_without_a_keeper_does_nothing(tmp_path):
    ring(tmp_path)
    ring(tmp_path / "nowhere")

from __future__ import annotations

import pytest

from tests.faults.real import Place, build_shim
from tests.faults.stories import Story


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    return build_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def place(tmp_path):
    places = []

    def make(name: str = "p", **settings):
        places.append(Place(tmp_path / name, **settings))
        return places[-1]

    yield make
    for each in places:
        each.close()


@pytest.fixture
def story(place, shim):
    """Make stories; print how many of their keepers were killed."""
    made = []

    def make(**settings):
        made.append(Story(place, shim, **settings))
        return made[-1]

    yield make
    for each in made:
        each.end()
        print(f"{each.kills} kills")

from contextlib import closing

import pytest

from tests.unit.localbatch.place import Place


@pytest.fixture
def place(tmp_path):
    with closing(Place(tmp_path)) as place:
        yield place


@pytest.fixture
def served(place):
    place.serve()
    return place

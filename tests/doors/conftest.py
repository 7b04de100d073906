import pytest

from tests.doors.place import Place


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    yield place
    place.close()

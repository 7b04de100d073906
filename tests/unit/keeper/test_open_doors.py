"""A keeper opens each door of its grid jobs once, by name."""

import pytest

from jim.doors.contract import DEFAULT
from jim.errors import JimError
from jim.keeper.open_doors import OpenDoors


def test_a_door_is_opened_once_and_keeps_its_memory():
    doors = OpenDoors("")
    assert doors.named(DEFAULT) is doors.named(DEFAULT)
    assert list(doors.by_name) == [DEFAULT]


def test_a_grid_job_of_an_older_version_names_no_door_and_has_the_default_one():
    doors = OpenDoors("")
    assert doors.named("") is doors.named(DEFAULT)


def test_a_door_that_is_not_there_is_refused_and_not_kept():
    doors = OpenDoors("")
    with pytest.raises(JimError, match="no_such_door"):
        doors.named("no_such_door")
    assert doors.by_name == {}

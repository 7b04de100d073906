"""Doors do their own work in each round; a door that fails holds up neither the others nor the keeper."""

import pytest

from jim.doors.contract import DEFAULT
from jim.errors import DiskFull
from jim.keeper.results.door_rounds import tell


class StandInDoor:
    """A door that notes the grid jobs whose answers have changed, and may fail."""

    def __init__(self, error=None):
        self.told, self.error = [], error

    def tell(self, keeper):
        self.told.append(sorted(keeper.doors.changed))
        if self.error:
            raise self.error


@pytest.fixture
def doors(world):
    """A door that fails, and one after it that does not."""
    world.keeper.doors.by_name = {DEFAULT: StandInDoor(OSError("its disk")), "other": StandInDoor()}
    return world.keeper.doors


def test_each_change_of_an_answer_is_told_to_each_door_once(world, doors):
    doors.changed = {7, 3}
    tell(world.keeper)
    tell(world.keeper)
    assert [each.told for each in doors.by_name.values()] == [[[3, 7], []]] * 2


def test_a_door_that_fails_is_told_in_the_log_and_not_in_each_round(world, doors, caplog):
    for _ in range(3):
        tell(world.keeper)
    assert caplog.messages == [f"the work of the door {DEFAULT!r} failed: its disk"]


@pytest.mark.parametrize("fault", [RuntimeError("oh"), SystemExit(1)])
def test_a_fault_in_the_code_of_a_door_is_no_fault_of_the_keeper(world, doors, caplog, fault):
    doors.by_name[DEFAULT].error = fault
    tell(world.keeper)
    assert doors.by_name["other"].told == [[]]
    assert "has a fault" in caplog.text


def test_a_store_that_cannot_be_written_is_the_keepers_own_trouble(world, doors):
    doors.by_name[DEFAULT].error = DiskFull("status.db")
    doors.changed = {7}
    with pytest.raises(DiskFull):
        tell(world.keeper)
    assert doors.changed == {7}  # the next round tells it again

"""The doors that are open in the keeper, and what they do there in each round."""

from __future__ import annotations

import logging

from jim.doors.contract import DEFAULT, Door, door_of
from jim.errors import JimError, Outdated, StoreError
from jim.keeper.keeper import House
from jim.plugins import foreign

log = logging.getLogger(__name__)


def tell(house: House) -> None:
    """Let each door do its own work; one that fails hinders no other, nor the keeper."""
    door_named(house, DEFAULT)
    for name, door in house.doors.items():
        try:
            with foreign(f"the door {name!r} has a fault"):
                door.tell(house)
        except (StoreError, Outdated):
            raise
        except (JimError, OSError) as error:
            if house.pace(("door", name)):
                log.error("what the door %r has to tell is not told: %s", name, error)


def door_named(house: House, name: str) -> Door:
    """Give the door of a grid job, opened once; without a name, the default one."""
    name = name or DEFAULT
    if name not in house.doors:
        house.doors[name] = door_of(name, house.site.site.handlers)
    return house.doors[name]

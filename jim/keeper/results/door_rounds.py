"""Runs the work of open doors in each round of the keeper."""

from __future__ import annotations

import logging

from jim.doors.contract import DEFAULT
from jim.errors import JimError, Outdated, StoreError
from jim.keeper.keeper import Keeper
from jim.trust.plugins import foreign

log = logging.getLogger(__name__)


def tell(keeper: Keeper) -> None:
    """Let each door do its own work; a door that fails stops neither the others nor the keeper."""
    keeper.doors.named(DEFAULT)
    for name, door in keeper.doors.by_name.items():
        try:
            with foreign(f"the door {name!r} has a fault"):
                door.tell(keeper)
        except (StoreError, Outdated):
            raise
        except (JimError, OSError) as error:
            if keeper.workers.pace(("door", name)):
                log.error("the work of the door %r failed: %s", name, error)
    keeper.doors.changed.clear()

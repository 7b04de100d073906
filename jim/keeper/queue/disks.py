"""Watches the room on the disks of state and work directory: below a threshold of the site nothing new is sent."""

from __future__ import annotations

import json
import logging
from functools import partial

from jim.errand import Errand
from jim.keeper.keeper import Keeper
from jim.keeper.looks import SPACE
from jim.site.space import Shortage, shortages

log = logging.getLogger(__name__)
PAUSE_SECONDS = 10.0


class Disks:
    """The move that has a worker look at the disks again and again. Nothing is sent before the first answer."""

    def __init__(self) -> None:
        self._found: list[Shortage] | None = None

    def __call__(self, keeper: Keeper) -> None:
        """Look again, if it is time."""
        look, note = partial(shortages, keeper.site), partial(self._note, keeper)
        keeper.workers.start(Errand(SPACE, look, note, lambda error: self._note(keeper, []), watches=True))

    def stops(self) -> bool:
        """Tell whether nothing new may be sent just now."""
        return self._found is None or any(each.stops for each in self._found)

    def _note(self, keeper: Keeper, found: list[Shortage]) -> None:
        """Keep what a look has found, for people too; a disk that cannot be looked at is no reason to wait."""
        before, self._found = self._found or [], found
        keeper.workers.wait(SPACE, PAUSE_SECONDS)
        if not self.stops():
            keeper.looks.wake(SPACE)
        if [each.stops for each in before] != [each.stops for each in found]:
            for each in found:
                log.warning(each.words)
            if not found:
                log.info("the disks of state and work directory have room again")
        if (text := json.dumps(found) if found else "") != keeper.store.fact(SPACE):
            keeper.store.set_fact(SPACE, text)

"""What the keeper's moves share. What one move alone needs to remember is an attribute of that move."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from jim.clock import Clock
from jim.keeper.doubts import Doubts, Listed
from jim.keeper.looks import Looks
from jim.keeper.workers import Workers
from jim.site.file import Site

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from typing import Any

    from jim.adapters.base import Adapter
    from jim.idealizer.channel import Channel
    from jim.idealizer.health import Health
    from jim.keeper.open_doors import OpenDoors
    from jim.keeper.serial import Hold
    from jim.statusdb.contract import Store

SLOW_SECONDS = 2.0  # a look that takes longer may have waited for a file server that was away


@dataclass
class Keeper:
    """One state directory, opened by its keeper."""

    site: Site
    store: Store
    channel: Channel
    clock: Clock
    workers: Workers
    hold: Hold
    doors: OpenDoors
    looks: Looks
    doubts: Doubts = field(default_factory=Doubts)
    listed: Listed = field(default_factory=Listed)

    @property
    def adapter(self) -> Adapter:
        """What the batch system is called, and what it can do."""
        return self.channel.adapter

    @property
    def health(self) -> Health:
        """Whether the batch system answers."""
        return self.channel.health

    @property
    def history(self) -> Health:
        """Whether what tells how jobs ended answers."""
        return self.channel.past

    @property
    def answered(self) -> Mapping[int, bytes]:
        """What polls print of grid jobs that have not ended."""
        return self.doors.answered

    def next_try(self, key: Hashable) -> dict[str, Any]:
        """Give what people are told of an errand on a grid job that has failed: how often, and when it is due again."""
        return {"tries": self.workers.tries(key), "due": self.clock.steady(self.workers.due(key))}

    def directory(self, grid: int) -> Path:
        """Name the directory of a grid job."""
        return self.hold.directory(grid)

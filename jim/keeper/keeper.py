"""The state that the keeper's moves share. State of a single move is an attribute of that move."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from jim.clock import Clock
from jim.idealizer.health import Health
from jim.keeper.looks import Looks
from jim.keeper.unlisted_attempts import Doubts
from jim.keeper.workers import Workers
from jim.site.file import Site

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Set
    from typing import Any

    from jim.adapters.base import Adapter
    from jim.idealizer.channel import Channel
    from jim.jobs import Key
    from jim.keeper.open_doors import OpenDoors
    from jim.keeper.recorded_outputs import Spoilt
    from jim.keeper.serial import Hold
    from jim.statusdb.store import Store

SLOW_SECONDS = 2.0  # a longer look may have waited for a file server that was away


@dataclass
class Hosts:
    """What the keeper knows of hosts that may be at fault."""

    avoided: tuple[str, ...] = ()  # submissions exclude these
    not_excluded: set[str] = field(default_factory=set)  # nor these: a submission that excluded them was refused
    asked: int = 0  # how often a judgement was wanted: after each failure that may be the fault of a host
    judged: int = -1  # of these, how many the last judgement answers
    ends: dict[int, int] = field(default_factory=dict)  # the judgements that grid jobs wait for, as numbers of `asked`

    def ask(self) -> int:
        """Want the hosts to be judged by all that is stored; return the number of this judgement."""
        self.asked += 1
        return self.asked

    def hold_up(self, grid: int) -> bool:
        """Tell whether the end of a grid job is to wait for a judgement: its last good ends may be what was lacking."""
        if grid not in self.ends:
            self.ends[grid] = self.ask()
        if self.ends[grid] > self.judged:
            return True
        del self.ends[grid]
        return False

    @property
    def excluded(self) -> tuple[str, ...]:
        """Return the hosts that the next submission excludes."""
        return tuple(each for each in self.avoided if each not in self.not_excluded)


@dataclass
class Lost:
    """Verified outputs that are lost, or not what they were."""

    spoilt: dict[int, Spoilt] = field(default_factory=dict)  # grid jobs that no tar can be made of as they are
    left_out: dict[int, set[Key]] = field(default_factory=dict)  # attempts whose lost outputs are kept elsewhere


@dataclass
class Keeper:
    """One state directory, opened by its keeper."""

    site: Site
    store: Store
    channel: Channel
    workers: Workers
    hold: Hold
    doors: OpenDoors
    looks: Looks
    doubts: Doubts = field(default_factory=Doubts)
    hosts: Hosts = field(default_factory=Hosts)
    lost: Lost = field(default_factory=Lost)

    @property
    def clock(self) -> Clock:
        """Return the clock of the store, which is that of everything."""
        return self.store.clock

    @property
    def adapter(self) -> Adapter:
        """Return the adapter: the batch system's name and abilities."""
        return self.channel.adapter

    @property
    def health(self) -> Health:
        """Return the health of the batch system's answers."""
        return self.channel.health

    @property
    def history(self) -> Health:
        """Return the health of the source that reports how jobs ended."""
        return self.channel.past

    @property
    def answered(self) -> Mapping[int, bytes]:
        """Return what polls print of unfinished grid jobs."""
        return self.doors.answered

    @property
    def changed(self) -> Set[int]:
        """Return the grid jobs whose answer has changed since the doors did their work."""
        return self.doors.changed

    def next_try(self, key: Hashable) -> dict[str, Any]:
        """Return the fields that show a failed errand of a grid job: number of tries, and when it is due again."""
        return {"tries": self.workers.tries(key), "due": self.clock.steady(self.workers.due(key))}

    def directory(self, grid: int) -> Path:
        """Return the directory of a grid job."""
        return self.hold.directory(grid)

"""Hosts of a batch system that take what waits, one of which may eat jobs; on a clock that is set."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

from jim.model import State
from jim.site.file import Batch, Limits
from tests.support.stand_ins import StandInClock, World

HOURS = 3600
SETTINGS = {
    "batch": Batch(touch_seconds=10, query_seconds=1.0, visible_seconds=1.0),
    "limits": Limits(attempts=2, retry_delay="PT1S"),
}


def let_time_be_told(monkeypatch) -> None:
    """Let the clock that is set be that of people, too."""
    monkeypatch.setattr(
        StandInClock, "utc", lambda clock: f"{datetime.fromtimestamp(clock.epoch(), UTC):%FT%T.%f}"[:23] + "Z"
    )


@dataclass
class Node:
    """One host of a batch system, with one slot."""

    name: str
    seconds: float  # how long a payload runs there
    code: int = 0
    has: tuple[str, int] | None = None
    until: float = 0.0
    leaves: bool = False


@dataclass
class Farm:
    """Nodes that take what waits, in each second of a clock that is set."""

    world: World
    nodes: list[Node]
    tried: Counter[str] = field(default_factory=Counter)  # payloads by host
    left: Counter[str] = field(default_factory=Counter)
    ran: Counter[tuple[int, int]] = field(default_factory=Counter)  # payloads that ended well, by local job

    def second(self) -> None:
        self.nodes.append(self.nodes.pop(0))  # no host is the first choice for ever
        for node in self.nodes:
            if node.has and self.world.clock.now >= node.until:
                self._end(node)
            if not node.has:
                self._begin(node)
        self.world.go(2)
        self.world.clock.now += 1

    def until_finished(self, grid: int = 1, seconds: int = 3 * HOURS) -> None:
        for _ in range(seconds):
            if self.world.finished(grid):
                return
            self.second()
        raise AssertionError(f"{self.world.store.counts(grid)} {self.world.store.journals.of(grid)[-9:]}")

    def _begin(self, node: Node) -> None:
        batch = self.world.batch
        free = (
            key for key, each in batch.tasks.items() if each.state is State.SUBMITTED and node.name not in each.avoid
        )
        key = next(free, None)
        if key is None:
            return
        batch.host, node.has, node.until = node.name, key, self.world.clock.now + node.seconds
        node.leaves = is_avoided(self.world, node.name)
        if node.leaves:
            batch.tasks[key].state, node.until = State.RUNNING, self.world.clock.now + 60
        elif batch.start(*key):
            self.tried[node.name] += 1
        else:
            node.has = None

    def _end(self, node: Node) -> None:
        batch = self.world.batch
        batch.host, key, node.has = node.name, node.has, None
        if node.leaves:
            self.left[node.name] += 1
            batch.leave(*key)
        else:
            batch.finish(*key, code=node.code, extra=f"up {node.seconds:.0f}\n")


def is_avoided(world: World, host: str) -> bool:
    """Do as the wrapper does (tests/wrapper/test_avoid.py has that)."""
    file = world.site.work / "avoid"
    words = dict(f"{line} ".split(" ", 1) for line in file.read_text().splitlines()) if file.is_file() else {}
    if not (trial := words.get(host, "-").strip()):
        return True
    if trial == "-":
        return False
    try:
        (world.site.work / trial).mkdir()
    except FileExistsError:
        return True
    return False


def farm(world: World, bad: int = 1, good: int = 9, seconds: float = 40.0) -> Farm:
    eats = [Node(f"hole{n}", 2.0, code=3) for n in range(bad)]
    return Farm(world, [*eats, *(Node(f"wn{n}", seconds) for n in range(good))])

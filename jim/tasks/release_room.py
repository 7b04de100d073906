"""Says how many more pieces of a task may be released, and which other task goes first."""

from __future__ import annotations

from typing import Protocol

from jim.model import State
from jim.site.file import Site
from jim.statusdb.store import Store
from jim.statusdb.task_rows import PieceRow, PieceState, Task, Wave
from jim.tasks.throttle_row import read
from jim.tasks.unsettled_waves import is_crowded

NOT_STARTED = (State.WAITING, State.SUBMITTING, State.SUBMITTED, State.HELD)
RELEASED = (PieceState.SENT, PieceState.COMPLETED, PieceState.FAILED)


class Place(Protocol):
    """The keeper, or what people read."""

    @property
    def store(self) -> Store:
        """The store."""

    @property
    def site(self) -> Site:
        """The site."""


class Room:
    """How many more pieces of a task may be on the way, and what limits them."""

    def __init__(self, of: Place, task: Task) -> None:
        counts = of.store.tasks.counts(task.id, "pieces")
        self._of, self._task = of, task.id
        self.ready, self.sent = counts.get("ready", 0), counts.get("sent", 0)
        self.waves = [each for each in of.store.waves.live(task.id) if not each.t]
        queued = sum(_not_started(of.store, each) for each in self.waves)
        self.row = row = read(task.throttle)
        most = of.site.limits.queued_by_tasks or of.site.limits.queued * 4 // 5
        self.places = max(0, most - sum(of.store.tasks.sent().values()))  # those of all tasks together
        self.free = max(0, min(row.allowance - self.sent, row.limits.queued - queued, self.places))
        self.probes = bool(row.throttle.probes and row.limits.at_once and (self.free <= 0 or row.allowance == 1))

    @property
    def alone(self) -> int | None:
        """How many of the first pieces, which go alone, are left; None: others may follow."""
        first = self.row.orders.alone_first
        return max(0, first - len(released(self._of.store, self._task))) if first else None

    @property
    def most(self) -> int:
        """How many pieces may be released now; none at the pace of probes."""
        if self.probes:
            return 0
        return max(0, min(self.free, self.ready if self.alone is None else min(self.ready, self.alone)))


def released(store: Store, task: int) -> list[PieceRow]:
    """Return the pieces of a task that were released: none whose promise broke before, or that others replace."""
    waves = (each.w for each in store.waves.all(task) if not each.t)
    return [each for w in waves for each in store.pieces.of_wave(task, w) if each.state in RELEASED]


def _not_started(store: Store, wave: Wave) -> int:
    counts = store.counts(wave.grid) if wave.grid else {}
    if not counts:
        return wave.size
    return sum(counts.get(state, 0) for state in NOT_STARTED)


def first_of_others(of: Place, task: Task) -> str:
    """Return the name of a task of a higher priority that has pieces to release, and may; empty: there is none."""
    for number in of.store.tasks.ready_above(task.priority):
        other = of.store.tasks.one(number)
        if other and Room(of, other).most and not is_crowded(of.store, other):
            return other.name
    return ""

"""Releases ready pieces: puts them into a wave, as many as the throttle allows."""

from __future__ import annotations

import logging

from jim.statusdb.task_rows import PieceRow, Task, TaskState
from jim.tasks.keeping import Keeper, ask_again
from jim.tasks.pieces.batch_limits import has_due
from jim.tasks.pieces.waves import Load, load_of, sha256_of, weight
from jim.tasks.release_room import Room, first_of_others
from jim.tasks.throttle import next_probe
from jim.tasks.unsettled_waves import is_crowded

log = logging.getLogger(__name__)
NEVER = float("inf")
LARGEST = 2_000_000  # bytes of a wave's pieces: the inbox reads 4 MB


class Releasing:
    """The releases of all tasks. It remembers when it has made the last wave of each."""

    def __init__(self) -> None:
        self._last_wave: dict[int, float] = {}  # when it was made, by task, in seconds since boot
        self.without_place: set[int] = set()  # tasks that wait until pieces of any task have ended

    def release(self, keeper: Keeper, task: Task) -> float:
        """Make a wave of ready pieces, if that is worth while now; return when to ask again."""
        room = Room(keeper, task)
        if task.state is not TaskState.RUNNING or not room.ready or is_crowded(keeper.store, task):
            return NEVER
        self.without_place.discard(task.id)
        if not room.places or first_of_others(keeper, task):
            self.without_place.add(task.id)
            return NEVER
        if room.probes:
            return self._probe(keeper, task, room)
        most = room.most
        if not most:
            return NEVER
        due = self._last_wave.get(task.id, 0.0) + float(task.spec.release.every_seconds)
        # Small waves wait, to become larger; if nothing is on the way, any wave goes.
        if room.sent and most < room.row.allowance / 4 and keeper.clock.boot() < due:
            return due
        return self._make_wave(keeper, task, most)

    def _probe(self, keeper: Keeper, task: Task, room: Room) -> float:
        """Release a single piece, at irregular intervals, while most attempts fail; what has failed takes turns."""
        throttle = room.row.throttle
        if not throttle.probes_new and any(has_due(keeper, wave.grid) for wave in room.waves if wave.grid):
            return NEVER  # the next probe is one of these
        due = keeper.clock.boot_at(next_probe(throttle, room.row.limits, task.nonce))
        if keeper.clock.boot() < due:
            return due
        with keeper.store.transaction():
            row = room.row._replace(throttle=throttle._replace(probed=keeper.clock.steady()))
            keeper.store.tasks.change(task.id, throttle=row.stored())
            return self._make_wave(keeper, task, 1)

    def _make_wave(self, keeper: Keeper, task: Task, most: int) -> float:
        loads = _loads(keeper, task, min(most, keeper.site.limits.per_submission))
        if not loads:
            return ask_again(keeper)  # what these pieces have stored before is still moved aside
        w = task.next_wave
        keeper.store.waves.intend(task.id, w, [row for row, _ in loads], sha256_of(each for _, each in loads))
        self._last_wave[task.id] = keeper.clock.boot()
        log.info("task %s: %d pieces released as wave %d", task.name, len(loads), w)
        return keeper.clock.boot()


def _loads(keeper: Keeper, task: Task, most: int) -> list[tuple[PieceRow, Load]]:
    """Return the first ready pieces that fit into a request; a large one goes alone."""
    loads: list[tuple[PieceRow, Load]] = []
    size = 0
    for piece in keeper.store.pieces.ready(task.id, most):
        load = load_of(keeper, piece)
        size += weight(load)
        if loads and size > LARGEST:
            break
        loads.append((piece, load))
    return loads

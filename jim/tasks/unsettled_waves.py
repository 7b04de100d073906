"""Tells whether too many waves of a task are not settled: for the release, and for people who ask why it waits."""

from __future__ import annotations

from jim.statusdb.store import Store
from jim.statusdb.task_rows import Task, Wave

MOST_WAVES = 64  # of a task that are not settled
STRAGGLERS = 0.05  # a wave of whose local jobs at most this share is left does not count


def is_crowded(store: Store, task: Task) -> bool:
    """Tell whether too many waves of a task are not settled, and have more than stragglers left."""
    waves = [each for each in store.waves.live(task.id) if not each.t]
    if len(waves) < MOST_WAVES:
        return False
    return sum(_left(store, each) > each.size * STRAGGLERS for each in waves) >= MOST_WAVES


def _left(store: Store, wave: Wave) -> int:
    counts = store.counts(wave.grid) if wave.grid else {}
    return sum(count for state, count in counts.items() if not state.final) if counts else wave.size

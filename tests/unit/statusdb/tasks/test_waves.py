"""Waves of tasks in a store."""

from __future__ import annotations

from jim.statusdb.task_rows import WaveState
from tests.unit.statusdb.tasks.planning import planned


def test_a_wave_has_its_pieces_until_they_are_ready_again(store):
    task = planned(store, "a", "b", "c")
    store.waves.intend(task, 1, store.pieces.ready(task, 2), "sum")
    (wave,) = store.waves.live(task)
    assert (wave.state, wave.size, wave.sha256, store.tasks.one(task).next_wave) == (WaveState.INTENDED, 2, "sum", 2)
    assert [(each.p, each.n, each.state) for each in store.pieces.of_wave(task, 1)] == [(0, 0, "sent"), (1, 1, "sent")]
    store.pieces.ready_again(task, {1: 2}, "")
    assert [(each.p, each.attempts) for each in store.pieces.ready(task, 9)] == [(1, 2), (2, 0)]
    assert [each.p for each in store.pieces.of_wave(task, 1)] == [0]
    store.waves.change(wave, state=WaveState.SETTLED, grid=7)
    assert store.waves.live(task) == []
    assert store.waves.of_grid_job(7).w == 1
    assert store.waves.of_grid_job(8) is None

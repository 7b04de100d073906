"""Grid jobs stored by hand."""

from __future__ import annotations

from jim.jobs import Change
from jim.model import Piece, State, Witness
from jim.statusdb.store import Store

REQUEST = {"job_type": "parametric", "argument_sets": [["1"], ["2"]]}


def add(store: Store, grid: int, size: int) -> None:
    store.add_grid_job(grid, f"key-{grid}", "someone", store.clock.utc(), REQUEST)
    store.add_pieces(grid, 0, (Piece(arguments=(str(n),)) for n in range(size)))
    store.end_split(grid, size)


def move(store: Store, grid: int, was: State, now: State, *numbers: int) -> None:
    attempt = store.local_job(grid, numbers[0]).attempt
    store.change([Change(grid, attempt, was, now, Witness.QUEUE, numbers)])


def send(store: Store, grid: int, at_once: int) -> None:
    """Give every local job its first attempt, in submissions of so many."""
    k = 0
    with store.transaction():
        while jobs := store.local_jobs(grid, (State.WAITING,), limit=at_once):
            k += 1
            store.intend(grid, k, f"mark-{grid}-{k}", jobs)

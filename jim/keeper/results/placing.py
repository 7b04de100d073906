"""Puts the outputs of finished grid jobs where their gatekeepers take them from, before polls say that they ended."""

from __future__ import annotations

import logging
from functools import partial

from jim.doors import placing
from jim.errand import Errand
from jim.errors import UnknownJob
from jim.jobs import PLACED, AtDoor, GridJob
from jim.keeper.keeper import Keeper
from jim.keeper.workers import NEVER
from jim.model import Step, Witness
from jim.site.realm import opener_of

log = logging.getLogger(__name__)
PLACE = "place"
LOOK_SECONDS = 60.0  # between two looks at a worker that copies
PATIENCE_SECONDS = 3600.0  # for a full disk, or a file server that is away


class Placing:
    """A part of the move that answers polls: it places outputs, and gives up after an hour of failures."""

    def __init__(self) -> None:
        # In seconds since boot; a restart begins the hour anew.
        self._since: dict[int, float] = {}  # when placing first failed
        self._heard: dict[int, float] = {}  # when a worker was last heard of: a file server may hang

    def __call__(self, keeper: Keeper, job: GridJob, kept: AtDoor) -> float:
        """Begin to place the outputs of a grid job that has finished; return when to ask again."""
        if not kept.waits:
            self._since.pop(job.id, None)
            self._heard.pop(job.id, None)
            return NEVER
        if (silent := self._silent_until(job.id)) <= keeper.clock.boot() and keeper.workers.busy((PLACE, job.id)):
            _give_up(keeper, job.id, f"{kept.places.get('directory')} has not answered for an hour")
            return NEVER
        work, done = partial(self._place, keeper, job, kept), partial(_placed, keeper, job.id)
        failed = partial(self._failed, keeper, job.id)
        due = keeper.workers.start(Errand((PLACE, job.id), work, done, failed, far=True, grid=job.id))
        return min(due, max(silent, keeper.clock.boot() + LOOK_SECONDS))

    def _silent_until(self, grid: int) -> float:
        """Return when a worker that is not heard of any more will have been silent for too long."""
        return self._heard.get(grid, NEVER) + PATIENCE_SECONDS

    def _place(self, keeper: Keeper, job: GridJob, kept: AtDoor) -> None:
        """Place the outputs. Runs in a worker: the places may be on a file server that is away."""

        def heard() -> None:
            self._heard[job.id] = keeper.clock.boot()

        keeper.hold.reach()
        placing.place(job, kept.places, heard, opener_of(keeper.site, job.realm))

    def _failed(self, keeper: Keeper, grid: int, error: BaseException) -> None:
        self._heard.pop(grid, None)
        if not _still_waits(keeper, grid):
            return
        now, first = keeper.clock.boot(), grid not in self._since
        log.warning("%d: its outputs cannot be placed: %s", grid, error)
        if now - self._since.setdefault(grid, now) >= PATIENCE_SECONDS:
            _give_up(keeper, grid, str(error))
        elif first:
            keeper.store.note(grid, "outputs not placed, will be tried again", Witness.KEEPER, str(error))


def _give_up(keeper: Keeper, grid: int, why: str) -> None:
    with keeper.store.transaction():
        keeper.store.at_doors.change(grid, placed=f"the outputs cannot be placed: {why}")
        keeper.store.note(grid, "outputs not placed", Witness.KEEPER, f"given up after an hour: {why}")


def _still_waits(keeper: Keeper, grid: int) -> bool:
    """Tell whether outputs are still to be placed: meanwhile, a person may have retried or removed the grid job."""
    try:
        return keeper.store.grid_job(grid).step is Step.FINISHED and keeper.store.at_doors.of(grid).waits
    except UnknownJob:
        return False


def _placed(keeper: Keeper, grid: int, _: None) -> None:
    if not _still_waits(keeper, grid):
        return
    with keeper.store.transaction():
        keeper.store.at_doors.change(grid, placed=PLACED)
        keeper.store.note(grid, "outputs placed", Witness.KEEPER)


def trouble(keeper: Keeper, grid: int) -> str:
    """Return in one line what the placing of outputs waits for."""
    words = keeper.workers.troubles(PLACE).get(grid, "")
    return (
        f"the outputs cannot be placed: {words}; tried again, for an hour" if words else "the outputs are being placed"
    )

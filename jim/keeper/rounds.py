"""The keeper's work on one state directory, round after round: it asks each move about what is to be looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from jim.errors import UnknownJob
from jim.jobs import GridJob
from jim.keeper.keeper import Keeper
from jim.keeper.workers import NEVER
from jim.model import Step

OPEN = tuple(step for step in Step if step is not Step.FINISHED)


class Move(NamedTuple):
    """One thing that the keeper does again and again: about the site as a whole, or about one grid job after another.

    What is asked about a grid job says when to ask again, in seconds since boot, if nothing of it changes before.
    """

    make: Callable[..., float | None]
    is_of_grid_job: bool

    @property
    def name(self) -> str:
        """Name what is done."""
        return str(getattr(self.make, "__name__", type(self.make).__name__))


def of_site(make: Callable[[Keeper], None]) -> Move:
    """Make a move that is about the site as a whole."""
    return Move(make, is_of_grid_job=False)


def of_grid_job(make: Callable[[Keeper, GridJob], float]) -> Move:
    """Make a move that is about one grid job."""
    return Move(make, is_of_grid_job=True)


class Rounds:
    """The keeper's work on one state directory."""

    def __init__(self, keeper: Keeper, moves: Sequence[Move]) -> None:
        self.keeper, self.moves = keeper, moves
        self._left: set[int] | None = None  # grid jobs that were to be asked about again; none: all of them

    def round(self) -> None:
        """Make every move once: those about the site, and those about each grid job that is open."""
        for of_grid_job, together in groupby(self.moves, key=attrgetter("is_of_grid_job")):
            made = tuple(each.make for each in together)
            if of_grid_job:
                looked = {job.id: min(move(self.keeper, job) or NEVER for move in made) for job in self._to_look_at()}
                self._left = {number for number, when in looked.items() if when < NEVER}
            else:
                for move in made:
                    move(self.keeper)

    def _to_look_at(self) -> Iterator[GridJob]:
        """Give all grid jobs that are open, and those that have ended meanwhile; after a start, give all."""
        store = self.keeper.store
        if self._left is None:
            yield from store.grid_jobs()
            return
        jobs = store.grid_jobs(*OPEN)
        yield from sorted(jobs, key=self._turn)
        for number in sorted((self._left | self.keeper.answered.keys()) - {job.id for job in jobs}):
            try:
                yield store.grid_job(number)
            except UnknownJob:  # it was removed meanwhile
                self.keeper.doors.answered.pop(number, None)

    def _turn(self, job: GridJob) -> tuple[int, float]:
        """Tell which grid job comes first: the highest priority, and whose wish waits longest."""
        return -job.priority, max(self.keeper.workers.due((what, job.id)) for what in ("wish", "cancel"))

    def deliver(self, timeout: float) -> bool:
        """Take in what a worker thread has done."""
        return self.keeper.workers.deliver(timeout)

    def idle(self) -> bool:
        """Tell whether nothing is left to do."""
        told = all(door.idle() for door in self.keeper.doors.by_name.values())
        return told and self.keeper.workers.idle() and not self.keeper.store.unfinished()

    def close(self) -> None:
        """Let go of threads and files."""
        self.keeper.workers.stop()
        self.keeper.store.close()

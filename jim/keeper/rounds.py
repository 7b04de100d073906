"""The keeper's work on one state directory, round after round: it asks each move about what is to be looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from jim.errors import UnknownJob
from jim.jobs import GridJob
from jim.keeper.fulfilling import OTHERS
from jim.keeper.keeper import Keeper
from jim.keeper.looks import SPARE_THREAD, THREAD
from jim.keeper.workers import NEVER

AT_ONCE_SECONDS = 0.03
SPOOL_SECONDS = 0.2  # how soon it is seen what a wrapper has reported: nothing else tells of that
IDLE_SECONDS = 2.0  # how soon it is seen what a door has left whose call was lost


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


def _groups(moves: Sequence[Move]) -> Iterator[tuple[bool, Iterator[Move]]]:
    return groupby(moves, key=attrgetter("is_of_grid_job"))


class Rounds:
    """The keeper's work on one state directory."""

    def __init__(self, keeper: Keeper, moves: Sequence[Move]) -> None:
        self.keeper, self.moves = keeper, moves
        if (
            sum(of_one for of_one, _ in _groups(moves)) > 1
        ):  # one look asks all of them; the next time is their earliest
            raise ValueError("the moves about grid jobs must stand together in moves()")
        keeper.looks.add(keeper.store.left())  # after a start; from then on what changes, and what is due

    def round(self) -> None:
        """Make every move once: those about the site, and those about each grid job that is to be looked at now."""
        for of_one, together in _groups(self.moves):
            made = tuple(each.make for each in together)
            if of_one:
                self._look_around(made)
            else:
                for move in made:
                    move(self.keeper)

    def _look_around(self, moves: Sequence[Callable[..., Any]]) -> None:
        """Ask moves about grid jobs for so long, no longer: others wait for the loop, too. The rest comes next."""
        self._note_changes()
        until = self.keeper.clock.boot() + AT_ONCE_SECONDS
        for grid in self._to_look_at():
            self._look(grid, moves)
            if self.keeper.clock.boot() > until:
                break

    def _note_changes(self) -> None:
        self.keeper.looks.add(self.keeper.store.changed())
        self.keeper.looks.add(self.keeper.workers.ended())

    def _to_look_at(self) -> Iterator[int]:
        """Give what waits for a thread, as long as one is free; then what has changed, and what is due."""
        looks, workers = self.keeper.looks, self.keeper.workers
        for what, spare in ((SPARE_THREAD, OTHERS), (THREAD, 0)):
            waiting = looks.take_waiting(what)
            while not workers.crowded(spare) and (grid := next(waiting, 0)):
                yield grid
        yield from looks.take()

    def _look(self, grid: int, moves: Sequence[Callable[..., Any]]) -> None:
        try:
            job = self.keeper.store.grid_job(grid)
        except UnknownJob:  # it was removed meanwhile
            self.keeper.doors.answered.pop(grid, None)
            when = NEVER
        else:
            when = min(move(self.keeper, job) for move in moves)
        self.keeper.looks.looked(grid, when)

    def rest(self) -> float:
        """Tell for how many seconds nothing is to be done, if no worker has a result and no door calls before."""
        self._note_changes()
        soonest = self.keeper.looks.soonest() - self.keeper.clock.boot()
        return min(max(0.0, soonest), SPOOL_SECONDS if self.keeper.store.unfinished() else IDLE_SECONDS)

    def deliver(self, timeout: float) -> bool:
        """Take in what a worker thread has done."""
        return self.keeper.workers.deliver(timeout)

    def wake(self) -> None:
        """Let `deliver` wait no longer."""
        self.keeper.workers.wake()

    def idle(self) -> bool:
        """Tell whether nothing is left to do."""
        told = all(door.idle() for door in self.keeper.doors.by_name.values())
        return told and self.keeper.workers.idle() and not self.keeper.store.unfinished()

    def close(self) -> None:
        """Let go of threads and files."""
        self.keeper.workers.stop()
        self.keeper.store.close()

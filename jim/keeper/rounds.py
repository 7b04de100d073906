"""The keeper's rounds: each round runs the moves for the site and for the grid jobs to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from jim.doors.inbox import names
from jim.errors import UnknownJob
from jim.jobs import GridJob
from jim.keeper.inbox.wishes import fulfil_for_task
from jim.keeper.keeper import Keeper
from jim.keeper.looks import AT_ONCE, SPARE_THREAD, THREAD
from jim.keeper.queue.fulfilling import OTHERS
from jim.keeper.results.answering import write_anew
from jim.keeper.results.lost_outputs import fail_of_task
from jim.keeper.workers import NEVER
from jim.tasks.moves import Tasks

AT_ONCE_SECONDS = 0.01
SPOOL_SECONDS = 0.2  # the longest rest with unfinished grid jobs: wrappers cannot call the keeper
IDLE_SECONDS = 2.0  # the longest rest without: the call of a door may be lost


class Move(NamedTuple):
    """One thing that the keeper does again and again, for the whole site or for one grid job after another.

    A move about a grid job returns when to run again, in seconds since boot, if nothing changes before.
    """

    make: Callable[..., float | None]
    is_of_grid_job: bool
    rest: Callable[[Keeper], float] = lambda _: NEVER  # for how many seconds it has nothing to do

    @property
    def name(self) -> str:
        """Return the name of the move."""
        return str(getattr(self.make, "__name__", type(self.make).__name__))


def of_site(make: Callable[[Keeper], None]) -> Move:
    """Return a move for the whole site."""
    return Move(make, is_of_grid_job=False)


def of_grid_job(make: Callable[[Keeper, GridJob], float]) -> Move:
    """Return a move for one grid job."""
    return Move(make, is_of_grid_job=True)


def of_tasks() -> Move:
    """Return the move about tasks, which fulfils what they want of their grid jobs as if a person had asked."""
    tasks = Tasks(fulfil_for_task, fail_of_task)
    return Move(tasks, is_of_grid_job=False, rest=tasks.rest)


def _groups(moves: Sequence[Move]) -> Iterator[tuple[bool, Iterator[Move]]]:
    return groupby(moves, key=attrgetter("is_of_grid_job"))


def _asked(keeper: Keeper, job: GridJob, moves: Sequence[Callable[..., Any]]) -> Iterator[float]:
    """Ask moves about a grid job until one of them has changed its step; yield when they are to be asked again."""
    for move in moves:
        when = move(keeper, job)
        yield when
        if when == AT_ONCE:
            break


class Rounds:
    """The keeper's work on one state directory."""

    def __init__(self, keeper: Keeper, moves: Sequence[Move]) -> None:
        self.keeper, self.moves = keeper, moves
        # One look asks all of these moves, and the earliest of their times is the next one.
        if sum(of_one for of_one, _ in _groups(moves)) > 1:
            raise ValueError("the moves about grid jobs must stand together in moves()")
        write_anew(keeper)
        keeper.looks.add(keeper.store.answers.owed())  # at the start; later only changed and due grid jobs

    def round(self) -> None:
        """Run every move once: for the site, or for each grid job to look at now."""
        self.keeper.store.require_log()
        self.keeper.workers.own_files.require_folders()
        for of_one, together in _groups(self.moves):
            made = tuple(each.make for each in together)
            if of_one:
                self._look_around(made)
            else:
                for move in made:
                    move(self.keeper)

    def _look_around(self, moves: Sequence[Callable[..., Any]]) -> None:
        """Run moves for grid jobs for a limited time, as other work waits too; the next round takes the rest."""
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
        """Yield grid jobs that wait for a thread, as long as one is free; then changed and due ones."""
        looks, workers = self.keeper.looks, self.keeper.workers
        for what, spare in ((SPARE_THREAD, OTHERS), (THREAD, 0)):
            waiting = looks.take_waiting(what)
            while not workers.crowded(spare) and (grid := next(waiting, 0)):
                yield grid
        yield from looks.take()

    def _look(self, grid: int, moves: Sequence[Callable[..., Any]]) -> None:
        try:
            job = self.keeper.store.grid_job(grid)
        except UnknownJob:  # the grid job was removed meanwhile
            self.keeper.doors.answered.pop(grid, None)
            when = NEVER
        else:
            when = min(_asked(self.keeper, job, moves))
        self.keeper.looks.looked(grid, when)

    def rest(self) -> float:
        """Return for how many seconds nothing is to be done, unless a worker has a result or a door calls."""
        self._note_changes()
        soonest = self.keeper.looks.soonest() - self.keeper.clock.boot()
        others = min((each.rest(self.keeper) for each in self.moves), default=NEVER)
        return min(max(0.0, soonest), others, SPOOL_SECONDS if self._expects_reports() else IDLE_SECONDS)

    def deliver(self, timeout: float) -> bool:
        """Wait for a worker's result and take it in."""
        return self.keeper.workers.deliver(timeout)

    def wake(self) -> None:
        """Make `deliver` return."""
        self.keeper.workers.wake()

    def idle(self) -> bool:
        """Tell whether no work is left."""
        doors_idle = all(door.idle() for door in self.keeper.doors.by_name.values())
        waits = (
            self._expects_reports() or self.keeper.store.tasks.any_live() or self.keeper.store.at_doors.any_unplaced()
        )
        # What lies in the inbox is to be tried again, such as a file that the account may not read.
        # A listing shows whether a batch job goes on after its end. Only a job that does is waited for: the one listing
        # after the last end would make each keeper end later, and if this one ends before, the next one asks.
        waits = waits or bool(self.keeper.doubts.lingering)
        return doors_idle and self.keeper.workers.idle() and not waits and not names(self.keeper.site.state)

    def _expects_reports(self) -> bool:
        return self.keeper.looks.publications or self.keeper.store.unfinished()

    def close(self) -> None:
        """Release threads and files."""
        self.keeper.workers.stop()
        self.keeper.store.close()

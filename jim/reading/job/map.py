"""Computes the map of a grid job's local jobs: a cell for each local job, or for several if there are many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from jim.jobs import GridJob
from jim.model import State
from jim.reading.filters import Filters
from jim.reading.lists import IN_ORDER, asked_of, is_narrowed
from jim.reading.view import View
from jim.statusdb.list_filters import LocalJobsAsked

MOST_SINGLE = 20_000  # with more local jobs, a cell stands for several
MOST_CELLS = 4_000
SHADES = 5
LINKS, LEAST_LINKED = 50, 200  # to ranges, for readers without a pointer or JavaScript
# A cell of several local jobs shows the worst of these states among them, else the most frequent one.
WORST = (State.FAILED, State.KILLED, State.NEW, State.HELD)
COLUMNS = ((50, 25), (400, 50), (2_500, 100))  # up to so many cells: cells in a row


class Run(NamedTuple):
    """Cells of one row that look alike."""

    column: int
    row: int
    length: int


class Look(NamedTuple):
    """The look of a cell: its state, the share of local jobs in that state (1 to 5), and whether it is dim."""

    state: State
    shade: int = SHADES
    dim: bool = False


class Map(NamedTuple):
    """A map to draw."""

    first: int  # the number of the first local job
    count: int  # type: ignore[assignment]  # of local jobs
    per_cell: int
    columns: int
    runs: Mapping[Look, Sequence[Run]]
    counts: Mapping[State, int]

    @property
    def cells(self) -> int:
        """Count the cells."""
        return -(-self.count // self.per_cell)

    @property
    def rows(self) -> int:
        """Count the rows."""
        return -(-self.cells // self.columns)

    def ranges(self) -> list[tuple[int, int]]:
        """Divide the local jobs of the map into ranges of equal size."""
        if self.count <= LEAST_LINKED:  # the page lists them all
            return []
        size = max(self.per_cell, _round(-(-self.count // LINKS)))
        last = self.first + self.count - 1
        return [(first, min(first + size - 1, last)) for first in range(self.first, last + 1, size)]


def _round(size: int) -> int:
    """Return the next round number that is not smaller."""
    step = 1
    while True:
        for factor in (1, 2, 5):
            if factor * step >= size:
                return factor * step
        step *= 10


def map_of(view: View, job: GridJob, filters: Filters) -> Map | None:
    """Return the map of a grid job; local jobs that filters exclude are dim. None if there are no local jobs."""
    if not job.size:
        return None
    asked = asked_of(filters)
    first, last = _range(asked, job.size)
    count = last - first + 1
    if count > MOST_SINGLE:
        return _coarse(view, job)
    inside = LocalJobsAsked(numbers=((first, last),))
    cells = {n: Look(state) for n, state in view.store.seen.states(job.id, inside)}
    if is_narrowed(filters):
        fit = {n for n, _ in view.store.seen.states(job.id, asked)}
        cells = {n: look if n in fit else Look(look.state, dim=True) for n, look in cells.items()}
    counts: dict[State, int] = {}
    for look in cells.values():
        counts[look.state] = counts.get(look.state, 0) + 1
    columns = _columns(count)
    return Map(first, count, 1, columns, _runs([cells.get(n) for n in range(first, last + 1)], columns), counts)


def is_range(filters: Filters, size: int) -> bool:
    """Tell whether the filters ask for a range that fits with a cell for each local job."""
    first, last = _range(asked_of(filters), size)
    return last - first < MOST_SINGLE


def _range(asked: LocalJobsAsked, size: int) -> tuple[int, int]:
    """Return the only range in the filters, if there is exactly one; else all."""
    if len(asked.numbers) == 1 and asked.numbers[0][0] < asked.numbers[0][1] and asked.numbers[0][0] < size:
        return asked.numbers[0][0], min(asked.numbers[0][1], size - 1)
    return 0, size - 1


def _columns(cells: int) -> int:
    return next((columns for most, columns in COLUMNS if cells <= most), 200)


def _runs(cells: Sequence[Look | None], columns: int) -> dict[Look, list[Run]]:
    """Join neighbouring cells of the same look in a row."""
    found: dict[Look, list[Run]] = {}
    for row, begin in enumerate(range(0, len(cells), columns)):
        column = 0
        for look, those in groupby(cells[begin : begin + columns]):
            length = len(list(those))
            if look is not None:
                found.setdefault(look, []).append(Run(column, row, length))
            column += length
    place = {state: number for number, state in enumerate(IN_ORDER)}
    return dict(sorted(found.items(), key=lambda each: (place[each[0].state], -each[0].shade, each[0].dim)))


def _coarse(view: View, job: GridJob) -> Map:
    per_cell = _round(-(-job.size // MOST_CELLS))
    blocks: dict[int, dict[State, int]] = {}
    for block, state, count in view.store.seen.blocks(job.id, per_cell):
        blocks.setdefault(block, {})[state] = count
    cells = -(-job.size // per_cell)
    looks = [worst(blocks[block]) if block in blocks else None for block in range(cells)]
    return Map(0, job.size, per_cell, 100, _runs(looks, 100), view.store.counts(job.id))


def worst(counts: Mapping[State, int]) -> Look:
    """Return the look of a cell of several local jobs."""
    bad = next((state for state in WORST if counts.get(state)), None)
    state = bad or max(counts, key=lambda each: counts[each])
    return Look(state, max(1, -(-SHADES * counts[state] // sum(counts.values()))))


def legend(counts: Mapping[State, int], states: Iterable[State] = IN_ORDER) -> list[tuple[State, int]]:
    """Return the states with local jobs, in order, with their counts."""
    return [(state, counts[state]) for state in states if counts.get(state)]

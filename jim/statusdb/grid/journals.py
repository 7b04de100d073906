"""Reads the journal of an SQLite store, by grid job or by time; the journal has no index by time."""

from __future__ import annotations

import json
from collections.abc import Iterator

from jim.jobs import Journal
from jim.model import Witness
from jim.statusdb import rows
from jim.statusdb.connected import StorePart
from jim.statusdb.short_forms import code, moment

NEXT = "SELECT seq, at FROM journal WHERE seq >= ? ORDER BY seq LIMIT 1"
BY_PEOPLE = "SELECT * FROM journal WHERE seq >= ? AND witness IN (?, ?) AND was = '' ORDER BY seq"
ACCEPTED, REQUESTED = "accepted", " requested"


LINES_AT_ONCE = 1000


class Journals(StorePart):
    """The part of a status DB about what has happened, and who asked for what."""

    def of(self, grid: int, n: int | None = None, last: int = 1000) -> list[Journal]:
        """Return the last lines about a grid job, or about one of its local jobs, oldest first."""
        return self._journal(*rows.where(grid=grid, n=n), last)

    def of_itself(self, grid: int, last: int = 1000) -> list[Journal]:
        """Return the last lines about a grid job itself, without its local jobs, oldest first."""
        return self._journal("grid = ? AND n IS NULL", [grid], last)

    def _journal(self, which: str, values: list[int], last: int) -> list[Journal]:
        found = self.db.execute(f"SELECT * FROM journal WHERE {which} ORDER BY seq DESC LIMIT ?", (*values, last))
        return list(rows.lines(found))[::-1]

    def first_line(self, grid: int) -> int:
        """Return the number of the first line about a grid job; 0: there is none."""
        return int(self.db.execute("SELECT ifnull(min(seq), 0) FROM journal WHERE grid = ?", (grid,)).fetchone()[0])

    def in_parts(self, grid: int, last: int) -> Iterator[Journal]:
        """Yield the last lines about a grid job, oldest first, read in parts."""
        numbers = [seq for (seq,) in self.db.execute(rows.LAST_LINES, (grid, last))][::-1]
        for first in range(0, len(numbers), LINES_AT_ONCE):
            part = json.dumps(numbers[first : first + LINES_AT_ONCE])
            yield from list(rows.lines(self.db.execute(rows.THESE_LINES, (part,))))

    def requested(self, since: str) -> Iterator[Journal]:
        """Yield the lines of the journal that say who submitted or requested something, since a time."""
        words = code(Witness.USER.value), Witness.USER.value  # an older format has words
        for line in rows.lines(self.db.execute(BY_PEOPLE, (self._first_since(since), *words))):
            if (line.now == ACCEPTED or line.now.endswith(REQUESTED)) and line.at >= since:
                yield line

    def _first_since(self, since: str) -> int:
        """Return the number of the first line since a time: lines are added as time goes by."""
        first, end = self.db.execute("SELECT ifnull(min(seq), 0), ifnull(max(seq), 0) + 1 FROM journal").fetchone()
        while first < end:
            middle = (first + end) // 2
            found = self.db.execute(NEXT, (middle,)).fetchone()
            if found is None or moment(found[1]) >= since:
                end = middle
            else:
                first = int(found[0]) + 1
        return int(first)

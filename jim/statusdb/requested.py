"""What people have asked of grid jobs, since a time: lines of the journal, which has no index by time."""

from __future__ import annotations

from collections.abc import Iterator

from jim.jobs import Journal
from jim.model import Witness
from jim.statusdb import rows
from jim.statusdb.connected import Connected
from jim.statusdb.packed import code, moment

NEXT = "SELECT seq, at FROM journal WHERE seq >= ? ORDER BY seq LIMIT 1"
BY_PEOPLE = "SELECT * FROM journal WHERE seq >= ? AND witness IN (?, ?) AND was = '' ORDER BY seq"
ACCEPTED, REQUESTED = "accepted", " requested"


class Requested(Connected):
    """The part of a status DB about who asked for what."""

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

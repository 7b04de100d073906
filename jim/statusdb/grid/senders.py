"""Who sent grid jobs, which attempts await their line of the accounting, and which can never start."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from jim.jobs import VERIFIED, Key, Sender, Unaccounted
from jim.model import IN_BATCH, Step
from jim.statusdb.connected import StorePart
from jim.statusdb.pieces import piece_of
from jim.statusdb.rows import column
from jim.statusdb.short_forms import unpacked

UNFINISHED = json.dumps([step.value for step in Step if step is not Step.FINISHED])
QUEUED = json.dumps(sorted(state.value for state in IN_BATCH))
UNACCOUNTED = (
    "SELECT u.seq, u.at, a.grid, CASE WHEN s.carriers THEN a.carrier ELSE a.idx END, a.n, a.attempt, a.host, "
    "a.started, a.record, a.verdict, s.mark, s.batch_id, CASE WHEN s.carriers THEN s.carriers ELSE s.size END, "
    "l.piece, s.asked, s.carriers > 0 FROM (SELECT * FROM unaccounted ORDER BY seq LIMIT ?) u "
    "CROSS JOIN attempt a ON a.grid = u.grid AND a.k = u.k AND a.idx = u.idx "
    "JOIN submission s ON s.grid = a.grid AND s.k = a.k JOIN local_job l ON l.grid = a.grid AND l.n = a.n"
)
# The lines of a submission with the last one of it are written together, after all its attempts have ended.
ENDED_CARRIERS = (
    "SELECT s.grid, s.k, s.mark, s.batch_id, s.carriers, s.size, s.asked, a.carrier, min(a.host), min(a.started), "
    "max(a.updated), count(*) FROM (SELECT grid, k, max(seq) AS last FROM unaccounted GROUP BY grid, k) u "
    "JOIN submission s ON s.grid = u.grid AND s.k = u.k AND s.carriers > 0 "
    "JOIN attempt a ON a.grid = u.grid AND a.k = u.k AND a.carrier > 0 WHERE u.last <= ? AND NOT EXISTS "
    "(SELECT 1 FROM attempt WHERE grid = u.grid AND k = u.k AND verdict = '') GROUP BY s.grid, s.k, a.carrier"
)
UNFINISHED_OF = (
    "SELECT g.id FROM grid_job g CROSS JOIN sender s ON s.grid = g.id "
    "WHERE g.step IN (SELECT value FROM json_each(?)) AND s.dn = ? AND s.known = ?"
)
IN_BATCH_OF_SENDERS = (
    "SELECT g.id, s.dn, s.known, sum(t.count) FROM grid_job g CROSS JOIN sender s ON s.grid = g.id "
    "CROSS JOIN tally t ON t.grid = g.id WHERE g.step IN (SELECT value FROM json_each(?)) AND s.dn <> '' "
    "AND t.state IN (SELECT value FROM json_each(?)) GROUP BY g.id"
)
OLD = (
    "SELECT g.id, g.key FROM sender JOIN grid_job g ON g.id = sender.grid "
    "WHERE g.step = 'finished' AND g.updated < ? LIMIT ?"
)


def _asked(text: str) -> Mapping[str, Any]:
    return json.loads(text) if text else {}


class EndedCarrier(NamedTuple):
    """A carrier of a submission of which all attempts have ended."""

    grid: int
    k: int
    mark: str
    batch_id: str
    carriers: int  # of the submission
    size: int  # likewise: local jobs
    needs: Mapping[str, Any]  # the resources of each local job
    carrier: int
    host: str
    started: str  # when its first claim was seen
    ended: str  # when the last of its attempts was settled
    local_jobs: int  # that it has run


class Senders(StorePart):
    """The parts of a status DB about senders and accounting."""

    def put(self, grid: int, sender: Sender) -> None:
        """Record who sent a grid job."""
        row = grid, column(sender.dn), column(json.dumps(sender.fqans)), column(sender.contact), int(sender.known)
        self.db.execute("INSERT OR REPLACE INTO sender VALUES (?, ?, ?, ?, ?)", row)

    def of(self, grid: int) -> Sender:
        """Return who sent a grid job; empty if that is not known, or not any more."""
        row = self.db.execute("SELECT * FROM sender WHERE grid = ?", (grid,)).fetchone()
        return Sender(row[1], tuple(json.loads(row[2])), row[3], bool(row[4])) if row else Sender()

    def sent_as(self, contact: str) -> int:
        """Return the latest grid job with a gatekeeper's contact; 0: there is none."""
        row = self.db.execute("SELECT max(grid) FROM sender WHERE contact = ? AND contact <> ''", (contact,)).fetchone()
        return int(row[0] or 0)

    def unfinished_of(self, sender: str) -> set[int]:
        """Return the grid jobs of a sender (`Sender.counted_as`) that have not finished."""
        values = UNFINISHED, sender.removeprefix(VERIFIED), sender.startswith(VERIFIED)
        return {number for (number,) in self.db.execute(UNFINISHED_OF, values)}

    def in_batch_of_senders(self) -> list[tuple[int, str, int]]:
        """Count the local jobs that the batch system has or may have, of grid jobs with a DN: number, sender, count.

        Senders are named as they are counted (`Sender.counted_as`).
        """
        found = self.db.execute(IN_BATCH_OF_SENDERS, (UNFINISHED, QUEUED))
        return [(number, Sender(dn, known=bool(known)).counted_as, count) for number, dn, known, count in found]

    def old(self, before: str, limit: int) -> list[tuple[int, str]]:
        """Return grid jobs with senders, and their keys, that finished before a time."""
        return list(self.db.execute(OLD, (before, limit)))

    def forget(self, grid: int) -> None:
        """Forget who sent a grid job."""
        self.db.execute("DELETE FROM sender WHERE grid = ?", (grid,))

    # Accounting

    def unaccounted(self, limit: int) -> list[Unaccounted]:
        """Return ended attempts whose line may not be written yet, the first ones."""
        rows = self.db.execute(UNACCOUNTED, (limit,))
        return [
            Unaccounted._make(
                (*row[:8], unpacked(row[8]), *row[9:13], piece_of(row[13]), _asked(row[14]), bool(row[15]))
            )
            for row in rows
        ]

    def ended_carriers(self, last: int) -> list[EndedCarrier]:
        """Return the carriers of submissions whose last line is one of these."""
        rows = self.db.execute(ENDED_CARRIERS, (last,))
        return [EndedCarrier._make((*row[:6], _asked(row[6]), *row[7:])) for row in rows]

    def is_unaccounted(self, grid: int) -> bool:
        """Tell whether a line about a grid job may not be written yet."""
        return self.db.execute("SELECT 1 FROM unaccounted WHERE grid = ? LIMIT 1", (grid,)).fetchone() is not None

    def are_accounted(self, last: int) -> None:
        """Record that the lines up to this one are written."""
        self.db.execute("DELETE FROM unaccounted WHERE seq <= ?", (last,))

    # Attempts that can never start

    def in_vain(self) -> dict[Key, float]:
        """Return since when attempts can never start, in seconds since 1970."""
        found = self.db.execute("SELECT grid, k, idx, since FROM in_vain")
        return {(grid, k, idx): since for grid, k, idx, since in found}

    def set_in_vain(self, begun: Mapping[Key, float], over: Iterable[Key]) -> None:
        """Record since when attempts can never start, and which may start again or have ended."""
        with self.transaction():
            self.db.executemany("DELETE FROM in_vain WHERE grid = ? AND k = ? AND idx = ?", over)
            new = ((*key, since) for key, since in begun.items())
            self.db.executemany("INSERT OR REPLACE INTO in_vain VALUES (?, ?, ?, ?)", new)

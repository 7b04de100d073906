"""Keeps the last line of stderr that failed local jobs of a grid job share, once for each reason."""

from __future__ import annotations

from collections.abc import Mapping

from jim.model import State
from jim.statusdb.connected import StorePart
from jim.statusdb.list_filters import LastLine
from jim.statusdb.short_forms import code

FAILED_AFTER = (
    "SELECT seq, n FROM journal INDEXED BY journal_by_grid_job "
    "WHERE grid = ? AND seq > ? AND n IS NOT NULL AND now IN (?, ?) ORDER BY seq LIMIT ?"
)
PUT = (
    "INSERT INTO last_line SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM grid_job WHERE id = ?1) "
    "ON CONFLICT DO UPDATE SET line = excluded.line, times = excluded.times, read = excluded.read"
)


class LastLines(StorePart):
    """The part of a status DB about the last words of payloads."""

    def of(self, grid: int) -> dict[str, LastLine]:
        """Return the last lines of a grid job's failed local jobs, by their reason."""
        found = self.db.execute(
            "SELECT reason, line, times, read FROM last_line WHERE grid = ? ORDER BY reason", (grid,)
        )
        return {reason: LastLine(*rest) for reason, *rest in found}

    def put(self, grid: int, lines: Mapping[str, LastLine]) -> None:
        """Store last lines by reason. No move acts on them, so this causes no look."""
        with self.transaction():
            self.db.executemany(PUT, [(grid, reason, *each) for reason, each in lines.items()])
            self.connected.show_anew(grid)

    def failed_after(self, grid: int, seq: int, limit: int) -> list[tuple[int, int]]:
        """Return local jobs that have failed after a line of the journal: the number of the line, and n."""
        words = State.FAILED.value, code(State.FAILED.value)
        return list(self.db.execute(FAILED_AFTER, (grid, seq, *words, limit)))

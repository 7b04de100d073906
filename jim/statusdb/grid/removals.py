"""Removed grid jobs in an SQLite store: their rows go at once, their files after that."""

from __future__ import annotations

from jim.jobs import GridJob
from jim.statusdb.connected import StorePart
from jim.statusdb.derived_sql import DERIVED

OF_GRID_JOB = (
    *("local_job", "submission", "attempt", "detail", "refused", "journal", "request", "unanswered"),
    *("sender", "unaccounted", "in_vain", "at_door", "spared", "queue_words", "last_line"),
)


class Removals(StorePart):
    """The part of a status DB about removed grid jobs."""

    def remove(self, job: GridJob) -> None:
        """Hide a grid job, free its key, and record that its files must be removed."""
        with self.transaction():
            for table in (*OF_GRID_JOB, *DERIVED):
                self.db.execute(f"DELETE FROM {table} WHERE grid = ?", (job.id,))
            self.db.execute("DELETE FROM grid_job WHERE id = ?", (job.id,))
            self.connected.touch(job.id)
            row = job.id, job.place, self.clock.utc()
            self.db.execute("INSERT OR REPLACE INTO removed (grid, place, at) VALUES (?, ?, ?)", row)

    def to_finish(self) -> list[tuple[int, str]]:
        """Return the grid jobs that were removed, with the directories that may be left."""
        return list(self.db.execute("SELECT grid, place FROM removed WHERE gone = 0 ORDER BY grid"))

    def files_are_gone(self, number: int) -> None:
        """Record that no file of a removed grid job is left."""
        self.db.execute("UPDATE removed SET gone = 1 WHERE grid = ?", (number,))

    def at(self, number: int) -> str:
        """Return when a grid job was removed; empty if that is not known."""
        return next((str(at) for (at,) in self.db.execute("SELECT at FROM removed WHERE grid = ?", (number,))), "")

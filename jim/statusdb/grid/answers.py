"""The last answers of grid jobs in an SQLite store: which of them are written, for polls to print."""

from __future__ import annotations

from collections.abc import Iterable

from jim.model import Step
from jim.statusdb.connected import StorePart

OPEN = tuple(step.value for step in Step if step is not Step.FINISHED)


class Answers(StorePart):
    """The part of a status DB about the last answers of grid jobs."""

    def written(self) -> list[int]:
        """Return the finished grid jobs whose last answer is written."""
        sql = "SELECT id FROM grid_job WHERE step = ? EXCEPT SELECT grid FROM unanswered"
        return [number for (number,) in self.db.execute(sql, (Step.FINISHED.value,))]

    def owed(self) -> list[int]:
        """Return the grid jobs that are not finished, or whose last answer is not written yet."""
        marks = ",".join("?" * len(OPEN))
        sql = f"SELECT id FROM grid_job WHERE step IN ({marks}) UNION SELECT grid FROM unanswered ORDER BY 1"
        return [number for (number,) in self.db.execute(sql, OPEN)]

    def write_anew(self, numbers: Iterable[int]) -> None:
        """Have the last answers of finished grid jobs written again."""
        with self.transaction():
            self.db.executemany("INSERT OR IGNORE INTO unanswered VALUES (?)", ((number,) for number in numbers))

    def are_written(self, numbers: Iterable[int]) -> None:
        """Record that the last answers of finished grid jobs are written."""
        with self.transaction():
            self.db.executemany("DELETE FROM unanswered WHERE grid = ?", ((number,) for number in numbers))

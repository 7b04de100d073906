"""The numbers of grid jobs in an SQLite store."""

from __future__ import annotations

from jim.statusdb import rows
from jim.statusdb.connected import StorePart


class Numbers(StorePart):
    """The part of a status DB about the numbers of grid jobs."""

    def all(self) -> list[int]:
        """Return the numbers of all grid jobs, in order."""
        return [number for (number,) in self.db.execute("SELECT id FROM grid_job ORDER BY id")]

    def highest(self) -> int:
        """Return the highest number of a grid job, also of a removed one; 0: there was none."""
        if not self.connected.is_made():
            return 0
        sql = "SELECT max(coalesce((SELECT max(id) FROM grid_job), 0), coalesce((SELECT max(grid) FROM removed), 0))"
        return int(self.db.execute(sql).fetchone()[0])

    def of_key(self, key: str) -> int:
        """Return the number of the grid job with a key; 0: there is none, or none any more."""
        return next((number for (number,) in self.db.execute("SELECT id FROM grid_job WHERE key = ?", (key,))), 0)

    def places(self) -> dict[int, str]:
        """Return the directories of grid jobs whose name is not the number."""
        return dict(self.db.execute(rows.ELSEWHERE))

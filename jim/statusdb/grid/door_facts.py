"""What doors keep of grid jobs: generations of keys, and places of outputs."""

from __future__ import annotations

import json
from typing import Any

from jim.jobs import AtDoor
from jim.model import NOTHING
from jim.statusdb.connected import StorePart
from jim.statusdb.rows import column

UNPLACED = (
    "SELECT 1 FROM at_door d INDEXED BY at_door_unplaced JOIN grid_job g ON g.id = d.grid "
    "WHERE d.places <> '' AND d.placed = '' AND NOT d.cancelled AND g.step = 'finished' LIMIT 1"
)


class AtDoors(StorePart):
    """The part of a status DB about what doors keep."""

    def of(self, grid: int) -> AtDoor:
        """Return what the door of a grid job keeps of it."""
        sql = "SELECT after, cancelled, places, placed FROM at_door WHERE grid = ?"
        row = self.db.execute(sql, (grid,)).fetchone()
        return AtDoor(row[0], bool(row[1]), json.loads(row[2]) if row[2] else NOTHING, row[3]) if row else AtDoor()

    def change(self, grid: int, **columns: Any) -> None:
        """Change what the door of a grid job keeps of it."""
        with self.transaction():
            kept = self.of(grid)._replace(**columns)
            places = json.dumps(kept.places) if kept.places else ""
            row = grid, kept.after, int(kept.cancelled), places, column(kept.placed)
            self.connected.touch(grid)
            self.db.execute("INSERT OR REPLACE INTO at_door VALUES (?, ?, ?, ?, ?)", row)

    def any_unplaced(self) -> bool:
        """Tell whether outputs of any finished grid job must still be placed for its gatekeeper."""
        return self.db.execute(UNPLACED).fetchone() is not None

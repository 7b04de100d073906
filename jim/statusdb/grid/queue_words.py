"""Keeps what the batch system says of waiting jobs: a row for a group of them, changed only if a listing differs."""

from __future__ import annotations

from collections.abc import Mapping

from jim.statusdb.connected import StorePart
from jim.statusdb.list_filters import QueueWords as Words

Key = tuple[int, int, str, str]  # grid job, submission, state, words
# A submission that has ended waits for nothing: perhaps no listing has come since.
STILL_LISTED = (
    "EXISTS (SELECT 1 FROM submission s WHERE s.grid = q.grid AND s.k = q.k "
    "AND s.state IN ('recorded', 'confirmed', 'full'))"
)
READ = "SELECT k, state, words, count, since FROM queue_words q WHERE grid = ? AND "
READ += f"{STILL_LISTED} ORDER BY k, state, words"
PUT = (
    "INSERT INTO queue_words SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE EXISTS (SELECT 1 FROM grid_job WHERE id = ?1) "
    "ON CONFLICT DO UPDATE SET count = excluded.count"
)


class QueueWords(StorePart):
    """The part of a status DB about the batch system's own words for why jobs wait."""

    def of(self, grid: int) -> list[Words]:
        """Return what the batch system says of the waiting jobs of a grid job, in groups."""
        return [Words(*row) for row in self.db.execute(READ, (grid,))]

    def new(self, seen: Mapping[Key, int]) -> dict[Key, int]:
        """Return what differs from what is stored; 0: nothing says so any more."""
        found = self.db.execute("SELECT grid, k, state, words, count FROM queue_words")
        stored = {(grid, k, state, words): count for grid, k, state, words, count in found}
        return {key: seen.get(key, 0) for key in stored.keys() | seen.keys() if stored.get(key) != seen.get(key)}

    def put(self, new: Mapping[Key, int]) -> None:
        """Store what differs. No move acts on it, so this causes no look."""
        now = self.clock.utc()
        with self.transaction():
            gone = [key for key, count in new.items() if not count]
            self.db.executemany("DELETE FROM queue_words WHERE grid = ? AND k = ? AND state = ? AND words = ?", gone)
            self.db.executemany(PUT, [(*key, count, now) for key, count in new.items() if count])
            self.connected.show_anew(*(grid for grid, *_ in new))

"""Which attempts do not count against their local jobs, as a host is to blame."""

from __future__ import annotations

from collections.abc import Iterable

from jim.jobs import Key
from jim.model import Kind
from jim.statusdb.connected import StorePart
from jim.statusdb.rows import keys as as_json

AMONG = (
    "SELECT s.grid, s.k, s.idx FROM json_each(?) e CROSS JOIN spared s ON s.grid = json_extract(e.value, '$[0]') "
    "AND s.k = json_extract(e.value, '$[1]') AND s.idx = json_extract(e.value, '$[2]') WHERE NOT s.open"
)

LEFT = (
    "SELECT DISTINCT s.host FROM spared s CROSS JOIN attempt a ON a.grid = s.grid AND a.k = s.k AND a.idx = s.idx "
    "WHERE NOT s.open AND a.kind = ? AND a.updated >= ?"
)


class Spared(StorePart):
    """The part of a status DB about attempts that do not count."""

    def set_left(self, key: Key, n: int, host: str) -> None:
        """Record that a wrapper has left an avoided host."""
        with self.transaction():
            self.db.execute("INSERT OR IGNORE INTO spared VALUES (?, ?, ?, ?, ?, 1)", (*key, n, host))

    def to_fence(self, limit: int) -> dict[Key, str]:
        """Return the attempts to be fenced."""
        sql = "SELECT grid, k, idx, host FROM spared INDEXED BY spared_open WHERE open LIMIT ?"
        return {(grid, k, idx): host for grid, k, idx, host in self.db.execute(sql, (limit,))}

    def spare(self, key: Key, n: int, host: str) -> None:
        """Record that an attempt does not count."""
        with self.transaction():
            self.db.execute("INSERT OR REPLACE INTO spared VALUES (?, ?, ?, ?, ?, 0)", (*key, n, host))

    def count_in(self, key: Key) -> None:
        """Record that an attempt counts after all."""
        with self.transaction():
            self.db.execute("DELETE FROM spared WHERE grid = ? AND k = ? AND idx = ?", key)

    def count(self, grid: int, n: int) -> int:
        """Return how many attempts at a local job do not count."""
        sql = "SELECT count(*) FROM spared WHERE grid = ? AND n = ? AND NOT open"
        return int(self.db.execute(sql, (grid, n)).fetchone()[0])

    def among(self, keys: Iterable[Key]) -> set[Key]:
        """Return those of these attempts that do not count."""
        return {(grid, k, idx) for grid, k, idx in self.db.execute(AMONG, as_json(keys))}

    def left_since(self, since: str) -> set[str]:
        """Return the hosts that wrappers have left, and whose attempts were fenced since a time."""
        return {host for (host,) in self.db.execute(LEFT, (Kind.AVOIDED.value, since))}

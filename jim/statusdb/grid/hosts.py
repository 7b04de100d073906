"""The reads about hosts: the attempts of all grid jobs, by host."""

from __future__ import annotations

from typing import Any

from jim.jobs import Alike
from jim.model import Kind
from jim.statusdb import rows
from jim.statusdb.connected import StorePart
from jim.statusdb.list_filters import AttemptSeen, GridJobOnHost, HostTotal
from jim.statusdb.short_forms import unpacked

# SQLite uses a partial index only if a query repeats the condition of the index literally.
BADLY = "verdict NOT IN ('', 'completed', 'killed') AND host <> ''"
TOTALS = (
    "SELECT host, sum(count), sum(CASE verdict WHEN '' THEN count ELSE 0 END), "
    "sum(CASE verdict WHEN 'completed' THEN count ELSE 0 END), "
    "sum(CASE WHEN verdict IN ('', 'completed', 'killed') THEN 0 ELSE count END), "
    "max(CASE WHEN verdict IN ('', 'completed', 'killed') THEN '' ELSE last END), "
    "max(CASE verdict WHEN 'completed' THEN last ELSE '' END) FROM on_host WHERE {which} GROUP BY host"
)
REASONS = (
    "SELECT host, reason, max(kind), count(*) FROM attempt WHERE {which} "
    "GROUP BY host, reason ORDER BY count(*) DESC LIMIT ?"
)
FAILED = (  # one walk over the index of those that ended
    "SELECT reason, kind, count(*) FROM (SELECT verdict, reason, kind FROM attempt "
    "WHERE verdict <> '' AND updated >= ? ORDER BY updated DESC LIMIT ?) "
    "WHERE verdict NOT IN ('completed', 'killed') GROUP BY reason, kind ORDER BY count(*) DESC"
)
SEEN = "SELECT a.host, a.grid, a.k, a.idx, a.n, a.attempt, a.started, a.verdict, a.reason, a.updated, a.record, a.kind "
ENDED = SEEN + (
    "FROM attempt a WHERE a.host <> '' AND a.verdict <> '' AND a.updated >= ? ORDER BY a.updated DESC LIMIT ?"
)
RUNNING = SEEN + (
    "FROM submission s JOIN attempt a ON a.grid = s.grid AND a.k = s.k "
    "WHERE s.state IN ('recorded', 'confirmed') AND a.verdict = '' AND a.host <> '' AND a.started <> '' LIMIT ?"
)
ON = SEEN + "FROM attempt a WHERE a.host = ? AND a.host <> '' ORDER BY a.updated DESC LIMIT ?"
GRID_JOBS = (
    "SELECT grid, sum(count), sum(CASE WHEN verdict IN ('', 'completed', 'killed') THEN 0 ELSE count END) "
    "FROM on_host WHERE host = ? GROUP BY grid ORDER BY grid DESC LIMIT ?"
)


class Hosts(StorePart):
    """The part of a status DB in which people look at hosts."""

    def totals(self, host: str = "") -> list[HostTotal]:
        """Count the attempts on each host, or on one."""
        sql = TOTALS.format(which="host = ?" if host else "true")
        return [HostTotal._make(row) for row in self.db.execute(sql, (host,) if host else ())]

    def reasons(self, limit: int, host: str = "") -> dict[str, list[Alike]]:
        """Return the most frequent reasons of failed attempts by host."""
        which = f"{BADLY} AND host = ?" if host else BADLY
        sql = REASONS.format(which=which)
        found: dict[str, list[Alike]] = {}
        for name, words, kind, count in self.db.execute(sql, (*((host,) if host else ()), limit)):
            found.setdefault(name, []).append(Alike(rows.reason(words, kind, ""), count))
        return found

    def failed_since(self, since: str, limit: int) -> list[Alike]:
        """Return the reasons of failed attempts, of the last ones that ended since a time."""
        found = self.db.execute(FAILED, (since, limit))
        return [Alike(rows.reason(words, kind, ""), count) for words, kind, count in found]

    def tried_lately(self, since: str, limit: int) -> list[AttemptSeen]:
        """Return attempts that ended since a time, the latest first, and then attempts that run."""
        found = self.db.execute(ENDED, (since, limit)).fetchall()
        found += self.db.execute(RUNNING, (limit,)).fetchall()
        return [_attempt(row) for row in found]

    def attempts_on(self, host: str, limit: int) -> list[AttemptSeen]:
        """Return the attempts on a host, the last changed first."""
        return [_attempt(row) for row in self.db.execute(ON, (host, limit))]

    def grid_jobs_on(self, host: str, limit: int) -> list[GridJobOnHost]:
        """Return the grid jobs with attempts on a host, the newest first."""
        return [GridJobOnHost._make(row) for row in self.db.execute(GRID_JOBS, (host, limit))]


def _attempt(row: tuple[Any, ...]) -> AttemptSeen:
    *told, record, kind = row
    return AttemptSeen._make((*told, unpacked(record), Kind(kind)))

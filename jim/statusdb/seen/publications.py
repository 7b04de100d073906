"""The publications of payloads and people: stored by grid job, local job and name, and added up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jim.jobs import Key
from jim.statusdb import rows
from jim.statusdb.connected import StorePart
from jim.statusdb.list_filters import Detail, PhaseSeen, Publisher, Refused, Unchecked
from jim.statusdb.published import OF_ALL, phase_of

BEFORE = "SELECT content, attempt, late FROM detail WHERE grid = ? AND n = ? AND name = ?"
LATEST = "SELECT attempt FROM local_job WHERE grid = ? AND n = ?"
PUBLISH = "INSERT OR REPLACE INTO detail VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
AGAIN = "UPDATE {} SET updated = ? WHERE grid = ? AND n = ? AND {} = ?"
ROOM = (
    "SELECT count(*), ifnull(sum(length(CAST(content AS BLOB))), 0) FROM detail WHERE grid = ? AND n = ? AND name <> ?"
)
REFUSE = (
    "INSERT INTO refused VALUES (?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET refused = refused + excluded.refused, dropped = dropped + excluded.dropped"
)
DETAILS = (
    "SELECT n, name, content, updated, attempt, late, valid FROM detail "
    "WHERE grid = ?1 AND (n, name) > (?2, ?3) AND n <= ?4 ORDER BY n, name LIMIT 1000"
)
PUBLISHERS = (
    "SELECT a.k, a.idx, a.grid, a.n, a.attempt, s.mark, a.verdict, a.updated, l.attempt, g.job_type "
    "FROM json_each(?) e CROSS JOIN attempt a ON a.grid = json_extract(e.value, '$[0]') "
    "AND a.k = json_extract(e.value, '$[1]') AND a.idx = json_extract(e.value, '$[2]') "
    "JOIN submission s ON s.grid = a.grid AND s.k = a.k JOIN local_job l ON l.grid = a.grid AND l.n = a.n "
    "JOIN grid_job g ON g.id = a.grid"
)
UNCHECKED = (
    "SELECT d.grid, d.n, d.name, d.content, g.job_type FROM detail d INDEXED BY detail_unchecked "
    "JOIN grid_job g ON g.id = d.grid WHERE d.valid = '?' LIMIT ?"
)
# A local job that waits for another attempt has begun nothing of that attempt.
PHASES = (
    "SELECT p.name, p.unit, sum(p.done), sum(p.total), count(*), max(p.updated) FROM phase p "
    "CROSS JOIN local_job l ON l.grid = p.grid AND l.n = p.n WHERE p.grid = ? AND p.attempt IN (0, l.attempt) "
    "AND NOT (l.state = 'waiting' AND l.attempt > 0) GROUP BY p.name, p.unit ORDER BY min(p.n), min(p.key)"
)
PHASES_OF_ONE = (
    "SELECT p.name, p.unit, p.done, p.total, n >= 0, p.updated, p.attempt, d.late FROM detail d "
    "CROSS JOIN phase p USING (grid, n) WHERE grid = ? AND n = ? AND p.key = d.name ORDER BY p.key"
)
EVENTS = (
    "SELECT ifnull(sum(json_extract(piece, CASE json_type(piece) WHEN 'array' THEN '$[1]' ELSE '$.events' END)), 0) "
    "FROM local_job WHERE grid = ?"
)


class Publications(StorePart):
    """The publications of a status DB."""

    def publish(
        self,
        grid: int,
        n: int,
        name: str,
        content: str,
        attempt: int | None = None,
        late: bool = False,
        valid: str = "",
    ) -> bool:
        """Store a publication in place of the last one under this name; tell whether it changes anything but the time.

        Nothing of an older attempt replaces what a newer one has published. Without an attempt, the latest one counts.
        """
        now = self.clock.utc()
        with self.transaction():
            mine = self._latest(grid, n) if attempt is None else attempt
            before = self.db.execute(BEFORE, (grid, n, name)).fetchone()
            if before == (content, mine, late):
                self.db.execute(AGAIN.format("detail", "name"), (now, grid, n, name))
                self.db.execute(AGAIN.format("phase", "key"), (now, grid, n, name))
                return False
            if before and before[1] > mine:
                return False
            self.connected.show_anew(grid)
            self.db.execute(PUBLISH, (grid, n, name, content, now, mine, late, valid))
            self._follow_phase(grid, n, name, content, now, mine)
        return True

    def _follow_phase(self, grid: int, n: int, name: str, content: str, now: str, attempt: int) -> None:
        if phase := phase_of(content):
            facts = phase.name, phase.unit, phase.done, phase.total, attempt, now
            self.db.execute("INSERT OR REPLACE INTO phase VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (grid, name, n, *facts))
        else:
            self.db.execute("DELETE FROM phase WHERE grid = ? AND key = ? AND n = ?", (grid, name, n))

    def _latest(self, grid: int, n: int) -> int:
        row = self.db.execute(LATEST, (grid, n)).fetchone()
        return int(row[0]) if row else 0

    def publishers(self, keys: Iterable[Key]) -> dict[Key, Publisher]:
        """Return what decides how publications of these attempts are taken in; unknown attempts are left out."""
        found = self.db.execute(PUBLISHERS, rows.keys(keys))
        return {(told[0], k, idx): Publisher._make(told) for k, idx, *told in found}

    def published_beside(self, grid: int, n: int, name: str) -> tuple[int, int]:
        """Return number and bytes of a local job's publications under other names."""
        count, size = self.db.execute(ROOM, (grid, n, name)).fetchone()
        return int(count), int(size)

    def count_refused(self, grid: int, n: int, refused: int = 0, dropped: int = 0) -> None:
        """Count publications that are refused, or dropped because they came too late."""
        with self.transaction():
            self.connected.show_anew(grid)
            self.db.execute(REFUSE, (grid, n, refused, dropped))

    def refused(self, grid: int, n: int) -> Refused:
        """Return how many publications of a local job were refused, and how many came too late."""
        found = self.db.execute("SELECT refused, dropped FROM refused WHERE grid = ? AND n = ?", (grid, n)).fetchone()
        return Refused(*found) if found else Refused()

    def details(self, grid: int, n: int | None = None) -> Iterator[Detail]:
        """Yield publications in order, read in parts."""
        last, upto = ((OF_ALL, ""), 1 << 62) if n is None else ((n, ""), n)  # a bound that SQLite uses to stop
        while part := self.db.execute(DETAILS, (grid, *last, upto)).fetchall():
            yield from map(Detail._make, part)
            last = part[-1][:2]

    def phases(self, grid: int) -> list[PhaseSeen]:
        """Add up the phases that the latest attempts of local jobs have begun."""
        return [PhaseSeen(*row) for row in self.db.execute(PHASES, (grid,))]

    def phases_of(self, grid: int, n: int) -> list[PhaseSeen]:
        """Return the phases of one local job, or those that were published for the grid job itself."""
        return [PhaseSeen(*row) for row in self.db.execute(PHASES_OF_ONE, (grid, n))]

    def events(self, grid: int) -> int:
        """Return the number of events of all local jobs, by their pieces."""
        return int(self.db.execute(EVENTS, (grid,)).fetchone()[0])

    # Grammars

    def unchecked(self, limit: int) -> list[Unchecked]:
        """Return publications that are not yet compared with the grammar of their job type."""
        return [Unchecked._make(row) for row in self.db.execute(UNCHECKED, (limit,))]

    def are_checked(self, found: Iterable[tuple[Unchecked, str]]) -> None:
        """Record how publications differ from the grammar (empty: in nothing), unless they were replaced meanwhile."""
        sql = "UPDATE detail SET valid = ? WHERE grid = ? AND n = ? AND name = ? AND content = ? AND valid = '?'"
        with self.transaction():
            for each, words in found:
                self.connected.show_anew(each.grid)
                self.db.execute(sql, (words, each.grid, each.n, each.name, each.content))

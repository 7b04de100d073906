"""The reads of lists and pages: parts of the store, in bounded time, in the order of a key."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from jim.errors import TooLong
from jim.jobs import HELD, OF_TASK, Alike, GridJob
from jim.model import Kind, State, Step
from jim.statusdb import rows
from jim.statusdb.connected import StorePart
from jim.statusdb.derived import minute_of
from jim.statusdb.derived_sql import CODED, CODES
from jim.statusdb.list_filters import LONGEST_PARSED, GridJobsAsked, HostSeen, LocalJobsAsked, LocalJobSeen, Minute
from jim.statusdb.short_forms import unpacked, word

MOST_NAMED = 20_000  # local jobs that a statement names
STATE_OF = dict(enumerate(CODED, 1))
STEPS_BETWEEN = 2000  # of SQLite's virtual machine, between two looks at the clock
NAMES = (
    "SELECT grid, json_extract(text, '$.name'), "
    "CASE json_type(text, '$.executable') WHEN 'text' THEN json_extract(text, '$.executable') END FROM request "
    "WHERE grid IN (SELECT value FROM json_each(?)) AND length(text) <= ?"
)
OF_MASTERS = (
    "(id IN (SELECT value FROM json_each(?)) OR (came_from <> '' AND "
    "CAST(came_from AS INTEGER) IN (SELECT value FROM json_each(?))))"
)
HERDS = {
    "single": "splitter = ''",
    "split": "splitter <> '' AND size > 0",
    "not split": "splitter <> '' AND size = 0 AND step = 'finished'",
    "will split": "splitter <> '' AND size = 0 AND step <> 'finished'",
}
BADLY = "('failed', 'killed', 'new')"
FAILED = f"id IN (SELECT grid FROM tally WHERE state IN {BADLY} AND count > 0)"
WORD = (
    "(job_type LIKE ?1 ESCAPE '\\' OR owner LIKE ?1 ESCAPE '\\' OR reason LIKE ?1 ESCAPE '\\' "
    "OR key LIKE ?1 ESCAPE '\\' OR CAST(id AS TEXT) = ?2)"
)
IN_NAME = (
    "EXISTS (SELECT 1 FROM request r WHERE r.grid = grid_job.id AND length(r.text) <= ?2 AND "
    "ifnull(nullif(json_extract(r.text, '$.name'), ''), json_extract(r.text, '$.executable')) LIKE ?1 ESCAPE '\\')"
)
RAN_ON = "EXISTS (SELECT 1 FROM attempt h INDEXED BY attempt_of WHERE h.grid = l.grid AND h.n = l.n AND h.host IN ({}))"
HAS_PHASE = "EXISTS (SELECT 1 FROM phase p WHERE p.grid = l.grid AND p.n = l.n AND p.name = ?)"
SEEN = (
    "SELECT l.n, l.state, l.attempt, l.submission, l.due, l.wish, l.witness, l.reason, l.kind, l.updated, "
    "ifnull(a.host, ''), ifnull(a.started, '') FROM local_job l LEFT JOIN attempt a INDEXED BY attempt_of "
    "ON a.grid = l.grid AND a.n = l.n AND a.attempt = l.attempt WHERE "
)
HOSTS = (
    "SELECT host, sum(count), sum(CASE WHEN verdict IN ('', 'completed') THEN 0 ELSE count END) AS bad, "
    "max(CASE WHEN verdict IN ('', 'completed') THEN '' ELSE last END) FROM on_host WHERE grid = ? "
    "GROUP BY host ORDER BY bad DESC, sum(count) DESC, host LIMIT ?"
)
_MINUTE = "strftime('%Y-%m-%dT%H:%M', at * 60, 'unixepoch')"
MINUTES = f"SELECT {_MINUTE}, what, count FROM pulse WHERE grid = ? AND count > 0 ORDER BY what = 'started', at, what"
LATELY = f"SELECT {_MINUTE}, what, count FROM pulse WHERE grid = 0 AND at >= ? AND count > 0 ORDER BY at, what"
RECORDS = (
    "SELECT a.record, ifnull(s.asked, '') FROM attempt a LEFT JOIN submission s ON s.grid = a.grid AND s.k = a.k "
    "WHERE a.grid = ? AND a.verdict = 'completed' AND a.record <> '' AND length(a.record) < 50000 LIMIT ?"
)
RECORDS_OF_ALL = "SELECT n, attempt, record FROM attempt WHERE grid = ? AND record <> '' AND length(record) < 50000"
CHANGES = "SELECT now, count(*) FROM journal WHERE seq > ? AND seq <= ? AND n IS NOT NULL AND now <> '' GROUP BY now"
OPEN = "SELECT state, sum(count) FROM tally WHERE grid IN (SELECT id FROM grid_job WHERE step <> 'finished') GROUP BY 1"
TALLIES = "SELECT grid, state, count FROM tally WHERE count > 0 AND grid IN (SELECT value FROM json_each(?))"
NOT_OF_TASK = f"substr(key, 1, {len(OF_TASK)}) <> '{OF_TASK}'"
OF_TASKS = "id IN (SELECT grid FROM wave WHERE grid > 0 AND task IN (SELECT value FROM json_each(?)))"
Clauses = list[tuple[str, tuple[Any, ...]]]


class Browsed(StorePart):
    """The lists and counts that people browse."""

    @contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        """Stop reads inside this block after so many seconds, with `TooLong`."""
        until = time.monotonic() + seconds
        self.db.set_progress_handler(lambda: time.monotonic() > until, STEPS_BETWEEN)
        try:
            yield
        except TooLong:
            raise TooLong(f"the query takes more than {seconds:g} s; narrow it with a filter") from None
        finally:
            self.db.set_progress_handler(None, 0)

    # Grid jobs

    def grid_jobs_page(self, asked: GridJobsAsked, limit: int) -> list[GridJob]:
        """Return the next matching grid jobs, the newest first, without their requests."""
        order = "updated DESC, id DESC" if asked.changed else "id DESC"
        which, values = all_of([*_grid_jobs(asked), *_after(asked)])
        found = self.db.execute(f"SELECT * FROM grid_job WHERE {which} ORDER BY {order} LIMIT ?", (*values, limit))
        return list(rows.grid_jobs(found, lambda _: "{}"))

    def names(self, grids: Sequence[int], longest: int) -> dict[int, tuple[object, object]]:
        """Return the names and programs of grid jobs as their requests have them, unless these are longer."""
        found = self.db.execute(NAMES, (json.dumps(grids), longest)) if grids else ()
        return {grid: (name, program) for grid, name, program in found}

    def count_grid_jobs(self, asked: GridJobsAsked, at_most: int) -> int:
        """Count matching grid jobs on all pages; stop at one more than `at_most`."""
        return self._count("grid_job", _grid_jobs(asked), at_most)

    def _count(self, table: str, clauses: Clauses, at_most: int) -> int:
        which, values = all_of(clauses)
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {which} LIMIT ?)"
        return int(self.db.execute(sql, (*values, at_most + 1)).fetchone()[0])

    def tallies(self, grids: Iterable[int]) -> dict[int, dict[State, int]]:
        """Count the local jobs of grid jobs by state."""
        found: dict[int, dict[State, int]] = {}
        for grid, state, count in self.db.execute(TALLIES, (json.dumps(list(grids)),)):
            found.setdefault(grid, {})[State(state)] = count
        return found

    def unfinished(self) -> dict[State, int]:
        """Count the local jobs of all unfinished grid jobs by state."""
        return {State(state): count for state, count in self.db.execute(OPEN) if count}

    def choices(self, limit: int) -> tuple[list[str], list[str]]:
        """Return the existing job types and owners."""
        types, owners = (
            [str(each) for (each,) in self.db.execute(f"SELECT DISTINCT {name} FROM grid_job LIMIT ?", (limit,))]
            for name in ("job_type", "owner")
        )
        return sorted(types), sorted(owners)

    def carried_by(self, batch_id_or_mark: str) -> list[tuple[int, int]]:
        """Return the submissions with this batch id or mark, as grid job and number."""
        sql = "SELECT grid, k FROM submission WHERE batch_id = ?1 OR mark = ?1 ORDER BY grid DESC, k DESC LIMIT 100"
        return list(self.db.execute(sql, (batch_id_or_mark,)))

    def ran_on(self, host: str, limit: int) -> list[int]:
        """Return grid jobs with an attempt on this host."""
        sql = "SELECT DISTINCT grid FROM on_host WHERE host = ? LIMIT ?"
        return [grid for (grid,) in self.db.execute(sql, (host, limit))]

    # Local jobs

    def local_jobs_page(self, grid: int, asked: LocalJobsAsked, limit: int) -> list[LocalJobSeen]:
        """Return the next matching local jobs, by number."""
        clauses = [*self._local_jobs(grid, asked), ("l.n > ?", (asked.after,))]
        if asked.states and asked == LocalJobsAsked(states=asked.states, after=asked.after):
            numbers = list(islice(self._found(grid, asked.states, asked.after + 1), limit))
            clauses = [*_local_jobs(grid, asked), _named_in(numbers)]
        which, values = all_of(clauses)
        sql = f"{SEEN}{which} ORDER BY l.n LIMIT ?"
        return [_seen(row) for row in self.db.execute(sql, (*values, limit))]

    def count_local_jobs(self, grid: int, asked: LocalJobsAsked, at_most: int) -> int:
        """Count matching local jobs on all pages; stop at one more than `at_most`."""
        if asked.states and asked == LocalJobsAsked(states=asked.states, after=asked.after):
            return min(self._times(grid, asked.states), at_most + 1)
        return self._count("local_job l", self._local_jobs(grid, asked), at_most)

    def _local_jobs(self, grid: int, asked: LocalJobsAsked) -> Clauses:
        """Return the SQL for filters; if few local jobs are in the wanted states, they are found by their cells."""
        few = [_named_in(numbers)] if (numbers := self._few(grid, asked.states)) is not None else []
        return [*_local_jobs(grid, asked), *few]

    def _few(self, grid: int, states: Sequence[State]) -> list[int] | None:
        """Return the local jobs in these states; None if there are many, or all: to look at each takes no longer."""
        counts = self.tallies([grid]).get(grid, {}) if states else {}
        times = _times_in(counts, states)
        if not states or times > MOST_NAMED or 0 < times == sum(counts.values()):
            return None
        return list(self._found(grid, states))

    def _times(self, grid: int, states: Sequence[State]) -> int:
        return _times_in(self.tallies([grid]).get(grid, {}), states)

    def _found(self, grid: int, states: Sequence[State], first: int = 0) -> Iterator[int]:
        """Find local jobs in these states by their cells."""
        codes = [re.escape(bytes([CODES[state.value]])) for state in states if state.value in CODES]
        return (found.start() for found in re.compile(b"|".join(codes) or b"(?!)").finditer(self._cells(grid), first))

    def _cells(self, grid: int) -> bytes:
        """Return the states of all local jobs, a byte for each."""
        found = self.db.execute("SELECT states FROM cells WHERE grid = ? ORDER BY block", (grid,))
        return b"".join(states for (states,) in found)

    def reasons(self, grid: int, states: Sequence[State], limit: int) -> tuple[list[Alike], int]:
        """Return the most frequent reasons of the local jobs in these states, with counts, and their number."""
        sql = "SELECT reason, max(kind), max(facts), count(*), count(*) OVER () FROM local_job "
        named, values = all_of([_named_in(numbers)] if (numbers := self._few(grid, states)) is not None else [])
        sql += f"l {rows.in_states(states)} AND grid = ? AND {named} {rows.BY_REASON}"
        found = self.db.execute(sql, (grid, *values, limit)).fetchall()
        return [Alike(rows.reason(*told), count) for *told, count, _ in found], found[0][-1] if found else 0

    def completing(self) -> Iterator[tuple[int, int]]:
        """Return the local jobs whose outputs are not verified yet."""
        return iter(self.db.execute(rows.COMPLETING).fetchall())

    def next_due(self, grid: int) -> float:
        """Return when the first waiting local job is due."""
        due = self.db.execute(rows.NEXT_DUE, (grid,)).fetchone()[0]
        return HELD if due is None else float(due)

    def states(self, grid: int, asked: LocalJobsAsked) -> Iterator[tuple[int, State]]:
        """Yield the state of each matching local job, by number."""
        if asked == LocalJobsAsked(numbers=asked.numbers[:1]):
            first, last = asked.numbers[0] if asked.numbers else (0, -1)
            return ((n, STATE_OF[code]) for n, code in enumerate(self._cells(grid)[first : last + 1 or None], first))
        which, values = all_of(self._local_jobs(grid, asked))
        found = self.db.execute(f"SELECT l.n, l.state FROM local_job l WHERE {which} ORDER BY l.n", values)
        return ((n, rows.STATES[state]) for n, state in found)

    def blocks(self, grid: int, size: int) -> Iterator[tuple[int, State, int]]:
        """Count the local jobs of each block of so many numbers by state."""
        cells = self._cells(grid)
        for block, first in enumerate(range(0, len(cells), size)):
            for code, count in Counter(cells[first : first + size]).items():
                yield block, STATE_OF[code], count

    def hosts(self, grid: int, limit: int) -> list[HostSeen]:
        """Return the hosts of a grid job's attempts, those with the most failures first."""
        return [HostSeen._make(row) for row in self.db.execute(HOSTS, (grid, limit))]

    # What happened when

    def minutes(self, grid: int) -> list[Minute]:
        """Count by minute how local jobs of a grid job ended, and how many attempts started."""
        return [Minute._make(row) for row in self.db.execute(MINUTES, (grid,))]

    def lately(self, since: str) -> list[Minute]:
        """Count by minute how local jobs of the site ended since a time, and how many attempts started."""
        return [Minute._make(row) for row in self.db.execute(LATELY, (minute_of(since),))]

    def journal_end(self) -> int:
        """Return the number of the last line of the journal."""
        return int(self.db.execute("SELECT ifnull(max(seq), 0) FROM journal").fetchone()[0])

    def changes_of_local_jobs(self, after: int, last: int) -> dict[str, int]:
        """Count the new states of local jobs in lines of the journal."""
        counted: dict[str, int] = {}
        for now, times in self.db.execute(CHANGES, (after, last)):
            counted[word(now)] = counted.get(word(now), 0) + times
        return counted

    def steps(self) -> dict[Step, int]:
        """Count grid jobs by step."""
        found = self.db.execute("SELECT step, count(*) FROM grid_job GROUP BY step")
        return {Step(step): count for step, count in found}

    def records_of_completed(self, grid: int, limit: int) -> list[tuple[str, str]]:
        """Return exit records of completed attempts, each with what its submission asked for, at most `limit`."""
        return [(unpacked(record), resources) for record, resources in self.db.execute(RECORDS, (grid, limit))]

    def records_of_all(self, grid: int) -> Iterator[tuple[int, int, str]]:
        """Yield the local job, the number and the exit record of each attempt that has left one."""
        for n, attempt, record in self.db.execute(RECORDS_OF_ALL, (grid,)):
            yield n, attempt, unpacked(record)


def all_of(clauses: Clauses) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL for all clauses, and its values."""
    return " AND ".join(sql for sql, _ in clauses) or "true", tuple(each for _, values in clauses for each in values)


def _times_in(counts: Mapping[State, int], states: Sequence[State]) -> int:
    return sum(counts.get(state, 0) for state in set(states))


def _named_in(numbers: Sequence[int]) -> tuple[str, tuple[Any, ...]]:
    return "l.n IN (SELECT value FROM json_each(?))", (json.dumps(numbers),)


def any_of(column: str, values: tuple[Any, ...]) -> Clauses:
    """Return the SQL for a column with one of these values; no values mean any."""
    return [(f"{column} IN ({', '.join('?' * len(values))})", values)] if values else []


def _grid_jobs(asked: GridJobsAsked) -> Clauses:
    clauses = [*any_of("step", asked.steps), *any_of("job_type", asked.types), *any_of("owner", asked.owners)]
    if asked.herds:
        clauses.append((f"({' OR '.join(f'({HERDS[each]})' for each in asked.herds)})", ()))
    if asked.outcomes is not None:
        ended, marks = json.dumps(asked.outcomes), "IN (SELECT value FROM json_each(?))"
        sql = f"((step = 'finished' AND outcome {marks}) OR id {marks})"
        clauses.append((sql, (ended, json.dumps(asked.also))))
    clauses += [_has_word(word, names=asked.names) for word in asked.words]
    clauses += [("created >= ?", (asked.since,))] if asked.since else []
    clauses += [("created < ?", (asked.until,))] if asked.until else []
    clauses += [(FAILED, ())] if asked.failed else []
    clauses += [(NOT_OF_TASK, ())] if asked.folded else []
    clauses += [(OF_TASKS, (json.dumps(asked.tasks),))] if asked.tasks else []
    clauses += [(OF_MASTERS, (json.dumps(asked.masters),) * 2)] if asked.masters else []
    return clauses


def _named(sql: str, count: int) -> str:
    """Replace numbered placeholders, as SQLite numbers them in the whole statement, of which this is a part."""
    for number in range(1, count + 1):
        sql = sql.replace(f"?{number}", "?")
    return sql


def _has_word(word: str, *, names: bool) -> tuple[str, tuple[Any, ...]]:
    escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    sql, values = _named(WORD, 2), (*[f"%{escaped}%"] * 4, word)
    if not names:
        return sql, values
    return f"({sql} OR {_named(IN_NAME, 2)})", (*values, LONGEST_PARSED, f"%{escaped}%")


def _after(asked: GridJobsAsked) -> Clauses:
    if asked.after is None:
        return []
    return [("(updated, id) < (?, ?)", asked.after)] if asked.changed else [("id < ?", (asked.after[1],))]


def _local_jobs(grid: int, asked: LocalJobsAsked) -> Clauses:
    clauses: Clauses = [("l.grid = ?", (grid,)), *any_of("l.state", tuple(state.value for state in asked.states))]
    clauses += [*any_of("l.attempt", asked.attempts), *any_of("l.submission", asked.submissions)]
    if asked.reasons:
        sql = " OR ".join(["l.reason GLOB ?"] * len(asked.reasons))
        clauses.append((f"({sql})", tuple(map(as_glob, asked.reasons))))
    if asked.hosts:
        clauses.append((RAN_ON.format(", ".join("?" * len(asked.hosts))), asked.hosts))
    if asked.held is not None:
        clauses.append((f"(l.state = 'waiting' AND l.due {'=' if asked.held else '<'} ?)", (HELD,)))
    clauses += [(HAS_PHASE, (phase,)) for phase in asked.phases]
    if asked.numbers:
        clauses.append((_between(len(asked.numbers)), tuple(n for both in asked.numbers for n in both)))
    return clauses


def _between(count: int) -> str:
    return f"({' OR '.join(['l.n BETWEEN ? AND ?'] * count)})"


def as_glob(words: str) -> str:
    """Return words as a GLOB pattern of SQLite in which only * is special."""
    return "".join(f"[{each}]" if each in "[?" else each for each in words)


def _seen(row: tuple[Any, ...]) -> LocalJobSeen:
    n, state, attempt, submission, due, wish, witness, reason, kind, *told = row
    held = due == HELD and state == State.WAITING.value
    return LocalJobSeen(n, rows.STATES[state], attempt, submission, held, wish, witness, reason, Kind(kind), *told)

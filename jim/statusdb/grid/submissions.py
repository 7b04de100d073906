"""Reads and changes submissions and attempts of an SQLite store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from jim.clock import Clock
from jim.jobs import Attempt, Compared, Ended, Key, Live, LocalJob, Submission, whole_reason
from jim.model import State, SubmissionState
from jim.statusdb import rows
from jim.statusdb.connected import Connected
from jim.statusdb.derived import Derived
from jim.statusdb.pieces import as_json


@lru_cache(256)
def _update(table: str, columns: tuple[str, ...], where: tuple[str, ...]) -> str:
    which = " AND ".join(f"{name} = ?" for name in where)
    return f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in columns)} WHERE {which}"


class Submissions(Connected):
    """The submissions and attempts of a status DB."""

    def __init__(self, file: Path, clock: Clock, *, write: bool = False) -> None:
        super().__init__(file, clock, write=write)
        self.derived = Derived(self)

    def _set(self, table: str, columns: Mapping[str, Any], **where: int) -> None:
        """Change columns of one row."""
        values = *map(rows.column, columns.values()), self.clock.utc(), *where.values()
        with self.transaction():
            self.touch(where.get("grid") or where["id"])
            self.db.execute(_update(table, (*columns, "updated"), tuple(where)), values)

    def submissions(self, *states: SubmissionState, grid: int | None = None) -> list[Submission]:
        """Return the submissions in these states."""
        which, values = rows.where(grid=grid)
        sql = f"SELECT * FROM submission WHERE state IN ({', '.join('?' * len(states))}) AND {which}"
        return list(map(rows.submission, rows.named(self.db.execute(sql, (*states, *values)))))

    def any_submission(self, *states: SubmissionState) -> bool:
        """Tell whether any submission is in one of these states."""
        sql = f"SELECT 1 FROM submission WHERE state IN ({', '.join('?' * len(states))}) LIMIT 1"
        return self.db.execute(sql, states).fetchone() is not None

    def submission(self, grid: int, k: int) -> Submission | None:
        """Return one submission."""
        row = rows.one(self.db.execute("SELECT * FROM submission WHERE grid = ? AND k = ?", (grid, k)))
        return rows.submission(row) if row else None

    def set_submission(self, grid: int, k: int, **columns: Any) -> None:
        """Change columns of a submission."""
        if "asked" in columns:
            columns["asked"] = as_json(columns["asked"])
        self._set("submission", rows.with_reason(columns), grid=grid, k=k)

    def changed_local_jobs(self, grid: int) -> list[LocalJob]:
        """Return the local jobs whose further attempts have attributes of their own."""
        sql = "SELECT * FROM local_job INDEXED BY local_job_changed WHERE changed <> '' AND grid = ? ORDER BY n"
        return list(rows.local_jobs(self.db.execute(sql, (grid,))))

    def end_submissions(self, grid: int) -> None:
        """Close the submissions without a live attempt."""
        with self.transaction():
            if self.db.execute(rows.END_SUBMISSIONS, (grid,)).rowcount:
                self.show_anew(grid)

    def submission_numbers(self, grid: int) -> set[int]:
        """Return the numbers of a grid job's submissions."""
        return {k for (k,) in self.db.execute("SELECT k FROM submission WHERE grid = ?", (grid,))}

    def forget_submission(self, grid: int, k: int) -> None:
        """Remove a never sent submission and its attempts."""
        with self.transaction():
            self.touch(grid)
            self.db.execute("DELETE FROM attempt WHERE grid = ? AND k = ?", (grid, k))
            self.db.execute("DELETE FROM submission WHERE grid = ? AND k = ?", (grid, k))

    def take_up(self, found: Submission, attempts: Mapping[int, tuple[int, int]]) -> None:
        """Store a found submission, with attempts at local jobs by index: n, attempt."""
        facts = found.grid, found.k, found.mark, found.size, found.state, found.updated, found.carriers
        why = rows.with_reason({"reason": whole_reason(found)}).values()
        with self.transaction():
            self.touch(found.grid)
            self.db.execute(rows.TAKE_UP, (*facts, *map(rows.column, why)))
            mine = ((found.grid, found.k, idx, *each, found.updated) for idx, each in attempts.items())
            self.db.executemany(rows.ADD_ATTEMPT, mine)

    def attempt(self, grid: int, k: int, idx: int) -> Attempt | None:
        """Return one attempt by its place in a submission."""
        which = "grid = ? AND k = ? AND idx = ?"
        found = self.db.execute(f"SELECT * FROM attempt WHERE {which}", (grid, k, idx))
        return next(rows.attempts(found), None)

    def attempts(self, grid: int, *, n: int | None = None, k: int | None = None) -> list[Attempt]:
        """Return the attempts of a grid job, of one local job, or of one submission."""
        which, values = rows.where(grid=grid, n=n, k=k)
        # An index for one local job, `+n` for one submission: else SQLite reads all attempts of the grid job.
        index = "INDEXED BY attempt_of" if n is not None else ""
        found = self.db.execute(f"SELECT * FROM attempt {index} WHERE {which} ORDER BY +n, attempt", values)
        return list(rows.attempts(found))

    def any_attempt(self, grid: int, k: int) -> bool:
        """Tell whether a submission has attempts."""
        found = self.db.execute("SELECT 1 FROM attempt WHERE grid = ? AND k = ? LIMIT 1", (grid, k))
        return found.fetchone() is not None

    def any_completed(self, grid: int, k: int) -> bool:
        """Tell whether an attempt of a submission has ended well."""
        sql = "SELECT 1 FROM attempt WHERE grid = ? AND k = ? AND verdict = ? LIMIT 1"
        return self.db.execute(sql, (grid, k, State.COMPLETED.value)).fetchone() is not None

    def batch_jobs_saved(self) -> int:
        """Count how many fewer the carriers in the batch system are than the local jobs there that they may run."""
        sql = (
            f"WITH carrying AS ({rows.CARRYING}) SELECT (SELECT ifnull(sum(count), 0) FROM tally WHERE state IN "
            f"({rows.IN_BATCH_WORDS}) AND grid IN (SELECT grid FROM carrying)) - "
            "(SELECT ifnull(sum(carriers), 0) FROM carrying)"
        )
        return int(self.db.execute(sql).fetchone()[0])

    def given_up(self) -> list[Attempt]:
        """Return the attempts that must end, and have no verdict yet."""
        return list(rows.attempts(self.db.execute(rows.GIVEN_UP)))

    def set_attempt(self, grid: int, k: int, idx: int, **columns: Any) -> None:
        """Change columns of an attempt."""
        self.set_attempts({(grid, k, idx): columns})

    def set_attempts(self, changes: Mapping[Key, Mapping[str, Any]]) -> None:
        """Change columns of several attempts: those with the same columns in one statement."""
        now = self.clock.utc()
        stored = {key: {**rows.attempt_columns(columns), "updated": now} for key, columns in changes.items()}
        alike: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
        for key, columns in stored.items():
            alike.setdefault(tuple(columns), []).append((*columns.values(), *key))
        with self.transaction():
            before = self.derived.attempts_before(changes)
            for names, values in alike.items():
                changed = ", ".join(f"{name} = ?" for name in names)
                self.db.executemany(f"UPDATE attempt SET {changed} WHERE grid = ? AND k = ? AND idx = ?", values)
            self.derived.follow_attempts(before, stored, now)
            self.touch(*{grid for grid, _, _ in changes})

    def compared(self, keys: Iterable[Key]) -> dict[Key, Compared]:
        """Return what evidence of attempts is compared with."""
        found = map(rows.compared, self.db.execute(rows.COMPARED, rows.keys(keys)))
        return {(each.grid, each.k, each.idx): each for each in found}

    def claimed(self, jobs: Iterable[tuple[int, int]]) -> list[tuple[int, Ended]]:
        """Return the last attempts of local jobs, with their grid jobs."""
        return [(grid, rows.ended(row)) for *row, grid in self.db.execute(rows.CLAIMED, rows.keys(jobs))]

    def live(self, grid: int | None = None) -> Iterator[Live]:
        """Yield every attempt without a verdict that the batch system has or may have."""
        which, values = rows.where(**{"s.grid": grid})
        return map(rows.live, self.db.execute(f"{rows.LIVE} AND {which}", values))

    def rivals(self, pairs: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Return which other live submissions have the batch ids of these pairs of batch id and mark, as such pairs."""
        known = [pair for pair in pairs if pair[0]]
        return frozenset((id_, mark) for id_, mark in self.db.execute(rows.RIVALS, rows.keys(known)))

    def has_started_off(self, host: str) -> bool:
        """Tell whether any attempt has started on another host."""
        sql = "SELECT 1 FROM on_host WHERE host < ?1 OR host > ?1 LIMIT 1"
        return self.db.execute(sql, (host,)).fetchone() is not None

    def ended(self, grid: int, *, records: bool = True) -> Iterator[Ended]:
        """Yield how each local job ended, read in parts: a slow reader must not hold up the store's log."""
        first, sql = 0, rows.ENDED if records else rows.ENDED_ALONE
        while part := self.db.execute(sql, (grid, first)).fetchall():
            yield from map(rows.ended, part)
            first = part[-1][0] + 1

    def last_run(self, grid: int, n: int) -> Attempt | None:
        """Return the last attempt of a local job that has started."""
        return next(rows.attempts(self.db.execute(rows.LAST_RUN, (grid, n))), None)

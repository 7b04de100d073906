"""The store: SQLite, written by the keeper's loop alone, read by anyone of the account.

Every method is one statement or one transaction; a transaction that was not committed never happened.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jim.errors import UnknownJob
from jim.jobs import HELD, Alike, Attempt, Change, Ended, GridJob, Journal, Live, LocalJob, Submission, whole_reason
from jim.model import NO_REASON, Piece, Reason, State, Step, SubmissionState, Witness
from jim.statusdb import rows
from jim.statusdb.connected import Connected

if TYPE_CHECKING:
    from jim.database import Cursor

IN_BATCH = ("submitting", "submitted", "held", "running", "suspended", "completing")


class Store(Connected):
    """The status DB of one state directory."""

    def reader(self) -> Store:
        """Open the same store for another thread, to read."""
        return Store(self.file, self.clock)

    def _set(self, table: str, columns: Mapping[str, Any], **where: int) -> None:
        """Change columns of one row."""
        columns = {**columns, "updated": self.clock.utc()}
        names = ", ".join(f"{name} = ?" for name in columns)
        which, values = rows.where(**where)
        self.db.execute(f"UPDATE {table} SET {names} WHERE {which}", (*map(rows.column, columns.values()), *values))

    # Grid jobs

    def add_grid_job(
        self,
        number: int,
        key: str,
        owner: str,
        created: str,
        request: Mapping[str, Any],
        nonce: str = "",
        door: str = "",
    ) -> bool:
        """Add a grid job, at step accepted; a known key or number changes nothing."""
        job_type, splitter, now = request["job_type"], request.get("splitter") or "", self.clock.utc()
        row = number, key, job_type, owner, created, now, splitter, nonce, door
        with self.transaction():
            cursor = self.db.execute(rows.ADD_GRID_JOB, row)
            if cursor.rowcount:
                self.db.execute("INSERT INTO request VALUES (?, ?)", (number, json.dumps(request)))
                self.db.execute(rows.RAISE)
                self.note(number, "accepted", Witness.USER)
        return bool(cursor.rowcount)

    def grid_job(self, number: int) -> GridJob:
        """Return one grid job."""
        job = next(self._whole(self.db.execute("SELECT * FROM grid_job WHERE id = ?", (number,))), None)
        if job is None:
            raise UnknownJob(f"there is no grid job {number} in {self.file.parent}")
        return job

    def grid_jobs(self, *steps: Step) -> list[GridJob]:
        """Return the grid jobs at these steps, or all, by their numbers."""
        wanted = [step.value for step in steps or Step]
        marks = ",".join("?" * len(wanted))
        found = self.db.execute(f"SELECT * FROM grid_job WHERE step IN ({marks}) ORDER BY id", wanted)
        return list(self._whole(found))

    def known_as(self, key: str) -> int:
        """Return the number of the grid job with a key; 0: there is none, or none any more."""
        row = self.db.execute("SELECT id FROM grid_job WHERE key = ?", (key,)).fetchone()
        return int(row[0]) if row else 0

    def places(self) -> dict[int, str]:
        """Return the directories of grid jobs whose name is not the number."""
        return dict(self.db.execute("SELECT id, place FROM grid_job WHERE place NOT IN ('', CAST(id AS TEXT))"))

    def _whole(self, found: Cursor) -> Iterator[GridJob]:
        """Add their requests to rows of grid_job."""
        for job in rows.grid_jobs(found, lambda number: self._requests.get(number) or self._request(number)):
            self._requests[job.id] = job.request_text
            if job.step in (Step.ACCEPTED, Step.FINISHED):
                del self._requests[job.id]
            yield job

    def _request(self, number: int) -> str:
        return str(self.db.execute("SELECT text FROM request WHERE grid = ?", (number,)).fetchone()[0])

    def unfinished(self) -> bool:
        """Tell whether any grid job is not finished."""
        return self.db.execute("SELECT 1 FROM grid_job WHERE step <> 'finished' LIMIT 1").fetchone() is not None

    def set_grid_job(self, number: int, **columns: Any) -> None:
        """Change a grid job, or its request, which is JSON."""
        if "request" in columns:
            self.db.execute("UPDATE request SET text = ? WHERE grid = ?", (columns.pop("request"), number))
            self._requests.pop(number, None)
        if "step" in columns:
            columns = {"tries": 0, "due": 0.0, **columns, "step": columns["step"].value}
        if "result" in columns:
            columns["result"] = json.dumps(columns["result"])
        self._set("grid_job", columns, id=number)

    def note(self, grid: int, what: str, witness: Witness, reason: str = "", n: int | None = None) -> None:
        """Add a line to the journal that is not a change of state. Lines never change."""
        self.db.execute(
            "INSERT INTO journal (at, grid, n, now, witness, reason) VALUES (?, ?, ?, ?, ?, ?)",
            (self.clock.utc(), grid, n, what, witness.value, rows.column(reason)),
        )

    def journal(self, grid: int, n: int | None = None, last: int = 1000) -> list[Journal]:
        """Return the last lines about a grid job, or about one of its local jobs, oldest first."""
        return self._journal(*rows.where(grid=grid, n=n), last)

    def own_journal(self, grid: int, last: int = 1000) -> list[Journal]:
        """Return the last lines about a grid job itself, without its local jobs, oldest first."""
        return self._journal("grid = ? AND n IS NULL", [grid], last)

    def _journal(self, which: str, values: list[int], last: int) -> list[Journal]:
        found = self.db.execute(f"SELECT * FROM journal WHERE {which} ORDER BY seq DESC LIMIT ?", (*values, last))
        return list(rows.lines(found))[::-1]

    def counts(self, grid: int) -> dict[State, int]:
        """Return a grid job's local jobs counted by state, without reading them; none before `end_split`."""
        found = self.db.execute("SELECT state, count FROM tally WHERE grid = ? AND count > 0", (grid,))
        return {State(state): count for state, count in found}

    def in_batch(self) -> dict[int, int]:
        """Count, for each grid job, the local jobs that the batch system has or may have."""
        marks = ",".join("?" * len(IN_BATCH))
        found = self.db.execute(f"SELECT grid, sum(count) FROM tally WHERE state IN ({marks}) GROUP BY grid", IN_BATCH)
        return dict(found.fetchall())

    # Splitting

    def empty(self, grid: int) -> None:
        """Remove the local jobs of a split that did not end."""
        with self.transaction():
            self.db.execute("DELETE FROM local_job WHERE grid = ?", (grid,))

    def add_pieces(self, grid: int, first: int, pieces: Iterable[Piece]) -> None:
        """Store a row of pieces as local jobs; they wait, or have failed (`Kind.NOT_MADE`) if the piece says why."""
        now = self.clock.utc()
        with self.transaction():
            for told in rows.new_local_jobs(first, pieces):
                self.db.execute(rows.ADD_PIECES, (grid, now, *told))

    def end_split(self, grid: int, size: int) -> None:
        """Let the local jobs count: step split."""
        count = "INSERT OR REPLACE INTO tally SELECT grid, state, count(*) FROM local_job WHERE grid = ? GROUP BY state"
        with self.transaction():
            self.db.execute(count, (grid,))
            self.set_grid_job(grid, step=Step.SPLIT, size=size)

    # Local jobs

    def local_job(self, grid: int, n: int) -> LocalJob:
        """Return one local job."""
        found = self.db.execute("SELECT * FROM local_job WHERE grid = ? AND n = ?", (grid, n))
        job = next(rows.local_jobs(found), None)
        if job is None:
            raise UnknownJob(f"there is no local job {grid}.{n}")
        return job

    def local_jobs(
        self, grid: int, states: Sequence[State] = tuple(State), *, limit: int = -1, due: float = math.inf
    ) -> list[LocalJob]:
        """Return a grid job's local jobs in order, in these states, at most so many, due by then."""
        sql = f"SELECT * FROM local_job {rows.in_states(states)} AND grid = ? AND due <= ? ORDER BY n LIMIT ?"
        return list(rows.local_jobs(self.db.execute(sql, (grid, due, limit))))

    def reasons(self, grid: int, states: Sequence[State], limit: int) -> tuple[list[Alike], int]:
        """Return the most frequent reasons of the local jobs in these states, with counts, and their number."""
        sql = f"SELECT reason, {rows.about_reasons(self._format)}, count(*), count(*) OVER () FROM local_job "
        sql += f"{rows.in_states(states)} AND grid = ? {rows.BY_REASON}"
        found = self.db.execute(sql, (grid, limit)).fetchall()
        return [Alike(rows.reason(*told), count) for *told, count, _ in found], found[0][-1] if found else 0

    def state(self, grid: int, n: int) -> State:
        """Return only the state of one local job."""
        row = self.db.execute("SELECT state FROM local_job WHERE grid = ? AND n = ?", (grid, n)).fetchone()
        return State(row[0])

    def wishes(self, grid: int, n: int) -> tuple[str, str]:
        """Return the wishes for a grid job and for one of its local jobs."""
        sql = "SELECT g.wish, l.wish FROM grid_job g JOIN local_job l ON l.grid = g.id WHERE g.id = ? AND l.n = ?"
        wish: tuple[str, str] = self.db.execute(sql, (grid, n)).fetchone()
        return wish

    def wished(self, grid: int) -> frozenset[int]:
        """Return the local jobs that someone wished to end and that have not ended."""
        sql = "SELECT n FROM local_job INDEXED BY local_job_wished WHERE wish <> '' AND grid = ? AND state NOT IN "
        return frozenset(n for (n,) in self.db.execute(f"{sql}({rows.FINAL_WORDS})", (grid,)))

    def held(self, grid: int) -> list[LocalJob]:
        """Return the local jobs that JIM holds until a person decides."""
        return list(rows.local_jobs(self.db.execute(rows.HELD_JOBS, (grid, HELD))))

    def change(self, changes: Iterable[Change]) -> None:
        """Change local jobs, all or none; skip those that are no longer where the evidence found them."""
        with self.transaction():
            for each in changes:
                which, values = rows.among(each.numbers)
                told = {"state": each.now, "witness": each.witness, "reason": each.reason}
                self._move(each.grid, each.was, f"{which} AND attempt = ?", (*values, each.attempt), told)

    def set_local_job(self, grid: int, n: int, **columns: Any) -> None:
        """Change a local job; a new state is written to the journal, and counts."""
        if "recovery" in columns:
            columns["recovery"] = json.dumps(columns["recovery"]) if columns["recovery"] else ""
        with self.transaction():
            self._move(grid, self.state(grid, n), "n = ?", (n,), columns)

    def end_waiting(self, grid: int, reason: Reason, at_most: int) -> int:
        """Kill the first waiting local jobs, as someone wished; return the number."""
        told = {"state": State.KILLED, "witness": Witness.USER, "reason": reason}
        with self.transaction():
            return self._move(grid, State.WAITING, rows.FIRST_WAITING, (grid, at_most), told)

    def _move(self, grid: int, was: State, which: str, values: Sequence[Any], told: Mapping[str, Any]) -> int:
        """Change columns of those of these local jobs that are in a state; tell how many they were.

        Journal and tally follow. Nothing else changes a state, so that none is missed. (A trigger that wrote the
        journal took as long again as all of this.)
        """
        columns = {name: rows.column(value) for name, value in rows.with_reason(told).items()}
        now = self.clock.utc()
        those = (*values, grid, was.value)
        if (state := columns.get("state", was.value)) != was.value:
            line = now, state, columns.get("witness"), columns.get("reason")
            self.db.execute(f"{rows.JOURNAL} WHERE {which} AND grid = ? AND state = ?", (*line, *those))
        names = ", ".join(f"{name} = ?" for name in (*columns, "updated"))
        changed = f"UPDATE local_job SET {names} WHERE {which} AND grid = ? AND state = ?"
        moved = self.db.execute(changed, (*columns.values(), now, *those)).rowcount
        if moved and state != was.value:
            self.db.execute(rows.COUNT, (grid, was.value, state, moved))
        return moved

    # Submissions and attempts

    def intend(self, grid: int, k: int, mark: str, jobs: Sequence[LocalJob], seconds: int | None = None) -> None:
        """Record, before anything is done, that these waiting local jobs are submitted together as submission k."""
        now = self.clock.utc()
        with self.transaction():
            self.db.execute(rows.RAISE)
            self.db.execute(
                "INSERT INTO submission (grid, k, mark, size, state, updated, wall_seconds) "
                "VALUES (?, ?, ?, ?, 'intended', ?, ?)",
                (grid, k, mark, len(jobs), now, seconds),
            )
            self.db.executemany(
                rows.ADD_ATTEMPT,
                ((grid, k, idx, job.n, job.attempt + 1, now) for idx, job in enumerate(jobs, 1)),
            )
            which, values = rows.among([job.n for job in jobs])
            sent = f"UPDATE local_job SET attempt = attempt + 1, submission = ? WHERE grid = ? AND {which}"
            self.db.execute(sent, (k, grid, *values))
            told = {"state": State.SUBMITTING, "witness": Witness.KEEPER, "reason": NO_REASON}
            self._move(grid, State.WAITING, which, values, told)
            self.db.execute("UPDATE grid_job SET submissions = max(submissions, ?) WHERE id = ?", (k, grid))

    def submissions(self, *states: SubmissionState, grid: int | None = None) -> list[Submission]:
        """Return the submissions in these states, of one grid job or of all."""
        which, values = rows.where(grid=grid)
        sql = f"SELECT * FROM submission WHERE state IN ({', '.join('?' * len(states))}) AND {which}"
        return list(map(rows.submission, rows.named(self.db.execute(sql, (*states, *values)))))

    def submission(self, grid: int, k: int) -> Submission | None:
        """Return one submission."""
        row = rows.one(self.db.execute("SELECT * FROM submission WHERE grid = ? AND k = ?", (grid, k)))
        return rows.submission(row) if row else None

    def set_submission(self, grid: int, k: int, **columns: Any) -> None:
        """Change a submission."""
        self._set("submission", rows.with_reason(columns), grid=grid, k=k)

    def attempt(self, grid: int, k: int, idx: int) -> Attempt | None:
        """Return one attempt by its place in a submission."""
        which = "grid = ? AND k = ? AND idx = ?"
        found = self.db.execute(f"SELECT * FROM attempt WHERE {which}", (grid, k, idx))
        return next(rows.attempts(found), None)

    def attempts(self, grid: int, *, n: int | None = None, k: int | None = None) -> list[Attempt]:
        """Return the attempts of a grid job, of one local job, or of one submission, by local job and number."""
        which, values = rows.where(grid=grid, n=n, k=k)
        # The index for the one, `+n` for the other: or SQLite looks through all of the grid job's attempts.
        index = "INDEXED BY attempt_of" if n is not None else ""
        found = self.db.execute(f"SELECT * FROM attempt {index} WHERE {which} ORDER BY +n, attempt", values)
        return list(rows.attempts(found))

    def given_up(self) -> list[Attempt]:
        """Return the attempts that must end (`over`), and have no verdict yet."""
        return list(rows.attempts(self.db.execute(rows.GIVEN_UP)))

    def set_attempt(self, grid: int, k: int, idx: int, **columns: Any) -> None:
        """Change an attempt."""
        self._set("attempt", rows.with_reason(columns), grid=grid, k=k, idx=idx)

    def live(self) -> Iterator[Live]:
        """Return every attempt without a verdict that the batch system has, by its answer or a listing."""
        return map(rows.live, self.db.execute(rows.live_of(self._format)))

    def ended(self, grid: int) -> Iterator[Ended]:
        """Return how each local job ended, in order, read in parts: a slow reader blocks nobody."""
        first = 0
        while part := self.db.execute(rows.ENDED, (grid, first)).fetchall():
            yield from map(Ended._make, part)
            first = part[-1][0] + 1

    def end_submissions(self) -> None:
        """Close the confirmed submissions without a live attempt."""
        self.db.execute(
            "UPDATE submission SET state = 'ended' WHERE state = 'confirmed' AND NOT EXISTS "
            "(SELECT 1 FROM attempt a WHERE a.grid = submission.grid AND a.k = submission.k AND a.verdict = '')"
        )

    def submission_numbers(self, grid: int) -> set[int]:
        """Return the numbers of a grid job's submissions."""
        return {k for (k,) in self.db.execute("SELECT k FROM submission WHERE grid = ?", (grid,))}

    def forget_submission(self, grid: int, k: int) -> None:
        """Remove a submission and its attempts that was never submitted."""
        with self.transaction():
            self.db.execute("DELETE FROM attempt WHERE grid = ? AND k = ?", (grid, k))
            self.db.execute("DELETE FROM submission WHERE grid = ? AND k = ?", (grid, k))

    def take_up(self, found: Submission, attempts: Mapping[int, tuple[int, int]]) -> None:
        """Store a found submission, with attempts at local jobs by index: n, attempt."""
        told = found.grid, found.k, found.mark, found.size, found.state, found.updated
        why = rows.with_reason({"reason": whole_reason(found)}).values()
        with self.transaction():
            self.db.execute(rows.TAKE_UP, (*told, *map(rows.column, why)))
            mine = ((found.grid, found.k, idx, *each, found.updated) for idx, each in attempts.items())
            self.db.executemany(rows.ADD_ATTEMPT, mine)

    # What payloads publish

    def publish(self, grid: int, n: int, name: str, content: str) -> None:
        """Store a publication of a payload; it replaces the last one under this name."""
        self.db.execute(rows.PUBLISH, (grid, n, name, content, self.clock.utc()))

    def details(self, grid: int, n: int | None = None) -> list[tuple[int, str, str, str]]:
        """Return publications: local job, name, content, time."""
        which, values = rows.where(grid=grid, n=n)
        return list(self.db.execute(f"SELECT n, name, content, updated FROM detail WHERE {which}", values))

    def remove(self, job: GridJob) -> None:
        """Hide a grid job, free its key, and record that its files must be removed."""
        with self.transaction():
            for table in ("local_job", "tally", "submission", "attempt", "detail", "journal", "request"):
                self.db.execute(f"DELETE FROM {table} WHERE grid = ?", (job.id,))
            self.db.execute("DELETE FROM grid_job WHERE id = ?", (job.id,))
            self.db.execute("INSERT OR IGNORE INTO removed VALUES (?, ?)", (job.id, job.place))

"""The store: SQLite, written by the keeper's loop alone, read by anyone of the account.

Every method is one statement or one transaction; a transaction that was not committed never happened.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jim.errors import UnknownJob
from jim.jobs import HELD, Change, GridJob, LocalJob
from jim.model import IN_BATCH, NO_REASON, NOTHING, Piece, Reason, State, Step, Witness
from jim.statusdb import rows
from jim.statusdb.documents.elements import Elements
from jim.statusdb.documents.task_elements import TaskElements
from jim.statusdb.grid.answers import Answers
from jim.statusdb.grid.door_facts import AtDoors
from jim.statusdb.grid.first_attempts import FirstAttempts
from jim.statusdb.grid.hosts import Hosts
from jim.statusdb.grid.journals import ACCEPTED, Journals
from jim.statusdb.grid.last_lines import LastLines
from jim.statusdb.grid.not_counted import Spared
from jim.statusdb.grid.numbers import Numbers
from jim.statusdb.grid.queue_words import QueueWords
from jim.statusdb.grid.removals import Removals
from jim.statusdb.grid.senders import Senders
from jim.statusdb.grid.submissions import Submissions
from jim.statusdb.grid.used_resources import Completed
from jim.statusdb.pieces import as_json
from jim.statusdb.seen.list_pages import Browsed
from jim.statusdb.seen.publications import Publications
from jim.statusdb.short_forms import code, moment_code
from jim.statusdb.tasks.broken_promises import BrokenPromises
from jim.statusdb.tasks.chains import Chains
from jim.statusdb.tasks.outputs import Outputs
from jim.statusdb.tasks.pieces import Pieces
from jim.statusdb.tasks.pools import Pools
from jim.statusdb.tasks.tasks import Tasks
from jim.statusdb.tasks.tasks_seen import TasksSeen
from jim.statusdb.tasks.waves import Waves

if TYPE_CHECKING:
    from pathlib import Path

    from jim.clock import Clock
    from jim.database import Cursor


class Store(Submissions):
    """The status DB of one state directory: grid jobs, local jobs and submissions, and parts about all else."""

    def __init__(self, file: Path, clock: Clock, *, write: bool = False) -> None:
        super().__init__(file, clock, write=write)
        self.journals, self.at_doors, self.answers = Journals(self), AtDoors(self), Answers(self)
        self.numbers, self.removals, self.spared = Numbers(self), Removals(self), Spared(self)
        self.senders, self.hosts, self.completed = Senders(self), Hosts(self), Completed(self)
        self.queue_words, self.last_lines, self.first_attempts = QueueWords(self), LastLines(self), FirstAttempts(self)
        self.publications, self.seen = Publications(self), Browsed(self)
        self.tasks = Tasks(self)
        self.pools, self.outputs = Pools(self, self.tasks), Outputs(self, self.tasks)
        self.pieces = Pieces(self.tasks, self.pools, self.outputs)
        self.waves = Waves(self.tasks, self.pieces)
        self.chains = Chains(self.tasks, self.pools, self.outputs, self.pieces)
        self.promises, self.seen_tasks = BrokenPromises(self.chains), TasksSeen(self)
        self.documents, self.task_documents = Elements(self, self.seen), TaskElements(self)

    def make_due(self, jump: float = 0.0) -> None:
        """Make everything due at once, also of tasks."""
        with self.transaction():
            super().make_due(jump)
            self.pools.make_due(jump)

    def reader(self) -> Store:
        """Open the same store for another thread, to read."""
        return Store(self.file, self.clock)

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
        by: str = "",
        realm: str = "",
    ) -> bool:
        """Add a grid job, at step accepted; a known key or number changes nothing."""
        job_type, splitter, now = request["job_type"], request.get("splitter") or "", self.clock.utc()
        row = number, key, job_type, owner, created, now, splitter, nonce, door, realm, request.get("came_from") or ""
        with self.transaction():
            cursor = self.db.execute(rows.ADD_GRID_JOB, row)
            if cursor.rowcount:
                self.db.execute("INSERT INTO request VALUES (?, ?)", (number, json.dumps(request)))
                self.db.execute(rows.RAISE)
                self.note(number, ACCEPTED, Witness.USER, by)
                self.touch(number)
        return bool(cursor.rowcount)

    def grid_job(self, number: int) -> GridJob:
        """Return one grid job."""
        for job in self._with_requests(self.db.execute("SELECT * FROM grid_job WHERE id = ?", (number,))):
            return job
        raise UnknownJob(f"there is no grid job {number} in {self.file.parent}")

    def grid_jobs(self, *steps: Step, last: int = -1) -> list[GridJob]:
        """Return the grid jobs at these steps, or all; at most the last `last`."""
        wanted = [step.value for step in steps or Step]
        marks = ",".join("?" * len(wanted))
        sql = f"SELECT * FROM grid_job WHERE step IN ({marks}) ORDER BY id DESC LIMIT ?"
        return list(self._with_requests(self.db.execute(sql, (*wanted, last))))[::-1]

    def finished(self, above: int, most: int) -> list[GridJob]:
        """Return at most `most` finished grid jobs with numbers above `above`, in order."""
        sql = "SELECT * FROM grid_job WHERE step = 'finished' AND id > ? ORDER BY id LIMIT ?"
        return list(self._with_requests(self.db.execute(sql, (above, most))))

    def _with_requests(self, cursor: Cursor) -> Iterator[GridJob]:
        """Yield the grid jobs of these rows, with their requests."""
        for job in rows.grid_jobs(cursor, lambda number: self._requests.get(number) or self._request(number)):
            self._requests[job.id] = job.request_text
            if job.step in (Step.ACCEPTED, Step.FINISHED):
                del self._requests[job.id]
            yield job

    def _request(self, number: int) -> str:
        return str(self.db.execute("SELECT text FROM request WHERE grid = ?", (number,)).fetchone()[0])

    def unfinished(self) -> bool:
        """Tell whether any grid job is not finished."""
        return self.any_grid_job(*(step for step in Step if step is not Step.FINISHED))

    def any_grid_job(self, *steps: Step) -> bool:
        """Tell whether any grid job is at one of these steps."""
        sql = f"SELECT 1 FROM grid_job WHERE step IN ({','.join('?' * len(steps))}) LIMIT 1"
        return self.db.execute(sql, [each.value for each in steps]).fetchone() is not None

    def set_grid_job(self, number: int, **columns: Any) -> None:
        """Change a grid job, or its request, which is JSON."""
        request = columns.pop("request", None)
        if "step" in columns:
            columns = {"tries": 0, "due": 0.0, **columns, "step": columns["step"].value}
        if "result" in columns:
            columns["result"] = json.dumps(columns["result"])
        with self.transaction():
            if request is not None:
                self.db.execute("UPDATE request SET text = ? WHERE grid = ?", (request, number))
                self._requests.pop(number, None)
            self._set("grid_job", columns, id=number)
            if columns.get("step") == Step.FINISHED.value:
                self.db.execute("INSERT OR IGNORE INTO unanswered VALUES (?)", (number,))

    def note(self, grid: int, what: str, witness: Witness, reason: str = "", n: int | None = None) -> None:
        """Add a line to the journal that is not a change of state. Lines never change."""
        line = moment_code(self.clock.utc()), grid, n, code(what), code(witness.value), rows.column(reason)
        with self.transaction():
            self.show_anew(grid)
            self.db.execute("INSERT INTO journal (at, grid, n, now, witness, reason) VALUES (?, ?, ?, ?, ?, ?)", line)

    def counts(self, grid: int) -> dict[State, int]:
        """Return a grid job's local jobs counted by state, without reading them; none before `end_split`."""
        found = self.db.execute("SELECT state, count FROM tally WHERE grid = ? AND count > 0", (grid,))
        return {State(state): count for state, count in found}

    def in_batch(self) -> int:
        """Count the local jobs that the batch system has or may have; a writer counts once, then with each change."""
        if self._in_batch is not None:
            return self._in_batch
        found = self.db.execute(f"SELECT ifnull(sum(count), 0) FROM tally WHERE state IN ({rows.IN_BATCH_WORDS})")
        counted = int(found.fetchone()[0])
        if self._writes:
            self._in_batch = counted
        return counted

    # Splitting

    def empty(self, grid: int) -> None:
        """Remove the local jobs of a split that did not end."""
        with self.transaction():
            self.db.execute("DELETE FROM local_job WHERE grid = ?", (grid,))

    def add_pieces(self, grid: int, first: int, pieces: Iterable[Piece]) -> None:
        """Store a row of pieces as local jobs; they wait, or have failed (`Kind.NOT_MADE`) if the piece says why."""
        now = self.clock.utc()
        with self.transaction():
            for row in rows.new_local_jobs(first, pieces):
                self.db.execute(rows.ADD_PIECES, (grid, now, *row))

    def end_split(self, grid: int, size: int) -> None:
        """Let the local jobs count: step split."""
        with self.transaction():
            self.derived.count_split(grid, size)
            self.set_grid_job(grid, step=Step.SPLIT, size=size)

    # Local jobs

    def local_job(self, grid: int, n: int) -> LocalJob:
        """Return one local job."""
        found = self.db.execute("SELECT * FROM local_job WHERE grid = ? AND n = ?", (grid, n))
        for job in rows.local_jobs(found):
            return job
        raise UnknownJob(f"there is no local job {grid}.{n}")

    def local_jobs(
        self,
        grid: int,
        states: Sequence[State] = tuple(State),
        *,
        first: int = 0,
        limit: int = -1,
        due: float = math.inf,
    ) -> list[LocalJob]:
        """Return a grid job's local jobs in these states, in order, from `first` on, at most `limit`, due by `due`."""
        sql = (
            f"SELECT * FROM local_job {rows.in_states(states)} AND grid = ? AND n >= ? AND due <= ? ORDER BY n LIMIT ?"
        )
        return list(rows.local_jobs(self.db.execute(sql, (grid, first, due, limit))))

    def state(self, grid: int, n: int) -> State:
        """Return only the state of one local job."""
        return State(self.db.execute("SELECT state FROM local_job WHERE grid = ? AND n = ?", (grid, n)).fetchone()[0])

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
                columns = {"state": each.now, "witness": each.witness, "reason": each.reason}
                there = self._in_state(each.grid, each.was, f"{which} AND attempt = ?", (*values, each.attempt))
                self._alter(each.grid, each.was, there, columns, each.spent)

    def set_local_job(self, grid: int, n: int, **columns: Any) -> None:
        """Change a local job; a new state is written to the journal, and counts."""
        for name in {"recovery", "changed"} & columns.keys():
            columns[name] = json.dumps(columns[name]) if columns[name] else ""
        with self.transaction():
            self._alter(grid, self.state(grid, n), [n], columns)

    def end_waiting(self, grid: int, reason: Reason, at_most: int) -> int:
        """Kill the first waiting local jobs, as someone wished; return the number."""
        columns = {"state": State.KILLED, "witness": Witness.USER, "reason": reason}
        with self.transaction():
            numbers = [n for (n,) in self.db.execute(rows.FIRST_WAITING, (grid, at_most))]
            self._alter(grid, State.WAITING, numbers, columns)
        return len(numbers)

    def _in_state(self, grid: int, was: State, which: str, values: Sequence[Any]) -> list[int]:
        """Return those of these local jobs that are in state `was`."""
        sql = f"SELECT n FROM local_job WHERE {which} AND grid = ? AND state = ? ORDER BY n"
        return [n for (n,) in self.db.execute(sql, (*values, grid, was.value))]

    def _alter(self, grid: int, was: State, numbers: Sequence[int], changes: Mapping[str, Any], spent: int = 0) -> None:
        """Change columns of local jobs, which are in state `was`.

        Journal and tally follow. Only this method changes the state of a local job, so no change is missed in them. (A
        trigger that wrote the journal doubled the time.)
        """
        if not numbers:
            return
        self.touch(grid)
        columns = {name: rows.column(value) for name, value in rows.with_reason(changes).items()}
        now = self.clock.utc()
        self._note_state(grid, numbers, was, columns, now)
        names = ", ".join(f"{name} = ?" for name in (*columns, "updated"))
        names += f", spent = spent + {spent}" if spent else ""
        which, values = rows.among(numbers)
        changed = f"UPDATE local_job SET {names} WHERE grid = ? AND {which}"
        self.db.execute(changed, (*columns.values(), now, grid, *values))

    def _note_state(self, grid: int, numbers: Sequence[int], was: State, columns: Mapping[str, Any], now: str) -> None:
        """Write a new state into the journal, before it changes, and let what is derived from states follow."""
        state = State(columns.get("state", was.value))
        if state is was:
            return
        which, values = rows.among(numbers)
        words = code(was.value), code(state.value), code(columns["witness"]) if "witness" in columns else None
        line = moment_code(now), *words, columns.get("reason")
        self.db.execute(f"{rows.JOURNAL} WHERE grid = ? AND {which}", (*line, grid, *values))
        self.derived.follow(grid, numbers, was, state, now)
        if self._in_batch is not None:
            self._in_batch += len(numbers) * ((state in IN_BATCH) - (was in IN_BATCH))

    # Submissions and attempts

    def intend(
        self,
        grid: int,
        k: int,
        mark: str,
        jobs: Sequence[LocalJob],
        seconds: int | None = None,
        asked: Mapping[str, Any] = NOTHING,
        carriers: int = 0,
    ) -> None:
        """Record, before anything is done, that these waiting local jobs are submitted together as submission k."""
        now = self.clock.utc()
        with self.transaction():
            self.db.execute(rows.RAISE)
            told = seconds, as_json(asked) if asked else "", self.clock.booted(), carriers
            self.db.execute(rows.INTEND, (grid, k, mark, len(jobs), now, *told))
            self.db.executemany(
                rows.ADD_ATTEMPT,
                ((grid, k, idx, job.n, job.attempt + 1, now) for idx, job in enumerate(jobs, 1)),
            )
            which, values = rows.among([job.n for job in jobs])
            sent = f"UPDATE local_job SET attempt = attempt + 1, submission = ? WHERE grid = ? AND {which}"
            self.db.execute(sent, (k, grid, *values))
            change = {"state": State.SUBMITTING, "witness": Witness.KEEPER, "reason": NO_REASON}
            waited = self._in_state(grid, State.WAITING, which, values)
            self._alter(grid, State.WAITING, waited, change)  # which also marks the grid job as changed
            self.db.execute("UPDATE grid_job SET submissions = max(submissions, ?) WHERE id = ?", (k, grid))

"""Waves of tasks in an SQLite store: the grid jobs that they hand in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jim.jobs import Journal
from jim.model import State
from jim.statusdb import rows
from jim.statusdb.connected import StorePart
from jim.statusdb.short_forms import code
from jim.statusdb.task_rows import Ended, PieceRow, PieceState, Wave, WaveState
from jim.statusdb.tasks.pieces import Pieces
from jim.statusdb.tasks.tasks import Tasks

LINES = "SELECT * FROM journal INDEXED BY journal_by_grid_job WHERE grid = ? AND seq > ? AND n IS NOT NULL ORDER BY seq"
BEHIND = (
    "SELECT w.* FROM wave w INDEXED BY wave_live JOIN grid_job g ON g.id = w.grid "
    "WHERE w.state IN ('intended', 'handed in') AND w.version <> g.version"
)

OUTLASTING = (
    "SELECT count(*) FROM wave w INDEXED BY wave_live JOIN local_job l ON l.grid = w.grid AND l.state = 'running' "
    "JOIN attempt a ON a.grid = l.grid AND a.n = l.n AND a.attempt = l.attempt AND a.verdict = '' "
    "AND a.started <> '' AND a.started <= ?2 "
    "WHERE w.task = ?1 AND w.t = 0 AND w.state IN ('intended', 'handed in') AND EXISTS "
    "(SELECT 1 FROM journal j INDEXED BY journal_of WHERE j.grid = l.grid AND j.n = l.n AND j.seq >= ?3 AND j.now = ?4)"
)


def _wave(row: Sequence[Any]) -> Wave:
    values = list(row)
    values[3] = WaveState(values[3])
    return Wave(*values)


class Waves(StorePart):
    """The part of a status DB about the grid jobs that tasks hand in."""

    def __init__(self, tasks: Tasks, pieces: Pieces) -> None:
        super().__init__(tasks.connected)
        self.tasks, self.pieces = tasks, pieces

    def intend(self, task: int, w: int, pieces: Sequence[PieceRow], sha256: str) -> None:
        """Record that these ready pieces are to be handed in as one grid job."""
        with self.transaction():
            self.add(task, 0, w, len(pieces), sha256)
            self.tasks.change(task, next_wave=w + 1)
            self.pieces.move(task, [Ended(each.p, PieceState.SENT) for each in pieces])
            sql = "UPDATE piece SET wave = ?, n = ? WHERE task = ? AND p = ?"
            self.db.executemany(sql, ((w, n, task, each.p) for n, each in enumerate(pieces)))

    def add(self, task: int, t: int, w: int, size: int, sha256: str, pieces: str = "") -> None:
        """Record the intent to hand in a grid job of a task or, with its pieces, of a test."""
        fix = max(self.tasks.fixes(task), default=0)
        sql = (
            "INSERT INTO wave (task, t, w, state, size, sha256, pieces, created, fix) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        self.db.execute(sql, (task, t, w, WaveState.INTENDED, size, sha256, pieces, self.clock.utc(), fix))

    def change(self, wave: Wave, **columns: Any) -> None:
        """Change a wave."""
        names = ", ".join(f"{name} = ?" for name in columns)
        values = (*columns.values(), wave.task, wave.t, wave.w)
        with self.transaction():
            self.connected.show_tasks_anew()
            self.db.execute(f"UPDATE wave SET {names} WHERE task = ? AND t = ? AND w = ?", values)

    def all(self, task: int, *states: WaveState) -> list[Wave]:
        """Return the waves of a task in these states, or all, and those of its tests."""
        marks = ",".join("?" * len(states))
        where = f"AND state IN ({marks})" if states else ""
        sql = f"SELECT * FROM wave WHERE task = ? {where} ORDER BY t, w"
        return list(map(_wave, self.db.execute(sql, (task, *states))))

    def one(self, task: int, w: int) -> Wave | None:
        """Return one wave of a task."""
        sql = "SELECT * FROM wave WHERE task = ? AND t = 0 AND w = ?"
        return next(map(_wave, self.db.execute(sql, (task, w))), None)

    def live(self, task: int) -> list[Wave]:
        """Return the waves of a task that are not settled, and those of its tests."""
        sql = (
            "SELECT * FROM wave INDEXED BY wave_live WHERE task = ? AND state IN ('intended', 'handed in') "
            "ORDER BY t, w"
        )
        return list(map(_wave, self.db.execute(sql, (task,))))

    def of_grid_job(self, grid: int) -> Wave | None:
        """Return the wave that a grid job is; None: it is not a task's."""
        return next(map(_wave, self.db.execute("SELECT * FROM wave WHERE grid = ? AND grid > 0", (grid,))), None)

    def behind(self) -> list[Wave]:
        """Return the waves whose grid jobs have changed since they were followed."""
        return list(map(_wave, self.db.execute(BEHIND)))

    def lines(self, wave: Wave) -> list[Journal]:
        """Return the lines of a wave's journal about its local jobs that are not followed yet."""
        return list(rows.lines(self.db.execute(LINES, (wave.grid, wave.followed))))

    def outlasting(self, task: int, line: int, before: str) -> int:
        """Count the attempts of a task that run, were sent since a line of the journal, and began before a time."""
        return int(self.db.execute(OUTLASTING, (task, before, line, code(State.SUBMITTING.value))).fetchone()[0])

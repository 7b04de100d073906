"""The queue for its verbs: each verb is one transaction, and answers from durable data."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from jim.clock import Clock
from jim.database import transaction

Key = tuple[int, int]  # job, index
Row = tuple[int | float | str | None, ...]

# verb → the states it changes at once, and into what
AT_ONCE: dict[str, dict[str, str]] = {
    "hold": {"pending": "held"},
    "release": {"held": "pending"},
    "cancel": {"pending": "cancelled", "held": "cancelled"},
}
# verb → the states in which there is something for the daemon to do
FOR_DAEMON: dict[str, tuple[str, ...]] = {
    "cancel": ("running", "suspended"),
    "suspend": ("running",),
    "resume": ("suspended",),
}
LARGEST_INDEX = 1_000_000_000


class Order(NamedTuple):
    """One job as it was submitted; a size above 1 is an array with indices from 1."""

    name: str
    script: str
    size: int = 1
    wall: int | None = None
    memory_mb: int | None = None
    queue: str | None = None


class Settings(NamedTuple):
    """The settings of an area."""

    identity: str
    slots: int
    grace: float
    idle: float


class Queue:
    """The queue of one area."""

    def __init__(self, db: sqlite3.Connection, clock: Clock) -> None:
        self.db, self.clock = db, clock

    def transaction(self) -> AbstractContextManager[None]:
        """Store all changes or none; they are durable at the end."""
        return transaction(self.db)

    def settings(self) -> Settings:
        """Read the area's settings."""
        return Settings(*self.db.execute("SELECT identity, slots, grace, idle FROM area").fetchone())

    def configure(
        self,
        slots: int | None = None,
        grace: float | None = None,
        idle: float | None = None,
        history_days: int | None = None,
    ) -> None:
        """Change the given settings; the daemon reads them in its next turn."""
        change = (
            "UPDATE area SET slots = ifnull(?, slots), grace = ifnull(?, grace), idle = ifnull(?, idle),"
            " history_days = ifnull(?, history_days)"
        )
        with self.transaction():
            self.db.execute(change, (slots, grace, idle, history_days))

    def submit(self, order: Order) -> int:
        """Store a job and return its id; from then on the job cannot be lost."""
        fields = (order.name, order.script, order.wall, order.memory_mb, order.queue)
        with self.transaction():
            insert = "INSERT INTO jobs (name, script, wall, memory_mb, queue) VALUES (?, ?, ?, ?, ?)"
            job = self.db.execute(insert, fields).lastrowid or 0
            keys = [(job, index) for index in range(1, order.size + 1)]
            self.db.executemany("INSERT INTO tasks (job, idx, state) VALUES (?, ?, 'pending')", keys)
            self.note("accepted", keys)
        return job

    def live(self) -> list[Row]:
        """Return live tasks: job, index, state, name."""
        return self.db.execute(
            "SELECT job, idx, state, name FROM live JOIN jobs ON id = job ORDER BY job, idx"
        ).fetchall()

    def history(self, ids: Sequence[Key]) -> list[Row]:
        """Return how these tasks ended: job, index, state, code, signal, reason, name."""
        known = (
            "SELECT job, idx, state, code, signal, reason, name FROM tasks JOIN jobs ON id = job"
            " WHERE job = ? AND idx BETWEEN ? AND ? AND state IN ('ended', 'cancelled') ORDER BY idx"
        )
        return [row for key in dict.fromkeys(ids) for row in self.db.execute(known, _tasks_of(key))]

    def find(self, name: str) -> list[Row]:
        """Return every task of this name, live or ended, as `history` does."""
        return self.db.execute(
            "SELECT job, idx, state, code, signal, reason, name FROM tasks JOIN jobs ON id = job"
            " WHERE name = ? ORDER BY job, idx",
            (name,),
        ).fetchall()

    def ledger(self) -> list[Row]:
        """Return all events of known jobs: number, time, event, job, index, name, detail."""
        return self.db.execute("SELECT seq, time, event, job, idx, name, detail FROM ledger ORDER BY seq").fetchall()

    def counts(self) -> dict[str, int]:
        """Count the live tasks by state."""
        return dict(self.db.execute("SELECT state, count(*) FROM live GROUP BY state").fetchall())

    def known(self, key: Key) -> bool:
        """Tell whether a job or task is known; index 0 means the job."""
        there = "SELECT 1 FROM tasks WHERE job = ? AND idx BETWEEN ? AND ? LIMIT 1"
        return self.db.execute(there, _tasks_of(key)).fetchone() is not None

    def change(self, verb: str, ids: Sequence[Key]) -> list[Key]:
        """Apply or record a verb for these tasks; return the unknown ones."""
        with self.transaction():
            for key in ids:
                chosen = "SELECT job, idx, state, wish FROM tasks WHERE job = ? AND idx BETWEEN ? AND ?"
                for job, index, state, wish in self.db.execute(chosen, _tasks_of(key)).fetchall():
                    self.make_change(verb, (job, index), state, wish)
            return [key for key in ids if not self.known(key)]

    def make_change(self, verb: str, key: Key, state: str, wish: str | None) -> None:
        """Apply the verb at once or record it for the daemon, in the caller's transaction."""
        becomes = AT_ONCE.get(verb, {}).get(state)
        if becomes == "cancelled":
            self.db.execute("UPDATE tasks SET reason = 'cancelled' WHERE job = ? AND idx = ?", key)
            self.close(key, becomes)
        elif becomes:
            self.db.execute("UPDATE tasks SET state = ? WHERE job = ? AND idx = ?", (becomes, *key))
        elif verb in FOR_DAEMON and wish != "cancel":
            # If the verb needs no work, it cancels a recorded opposite.
            wanted = verb if state in FOR_DAEMON[verb] else None
            self.db.execute("UPDATE tasks SET wish = ? WHERE job = ? AND idx = ?", (wanted, *key))

    def close(self, key: Key, state: str, detail: str = "") -> None:
        """Record that no process of a task is left; the last task ends its job. In the caller's transaction."""
        self.db.execute("UPDATE tasks SET state = ? WHERE job = ? AND idx = ?", (state, *key))
        self.note(state, [key], detail)
        self.db.execute(
            "UPDATE jobs SET ended = (SELECT day FROM area)"
            " WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM live WHERE job = ?1)",
            key[:1],
        )

    def note(self, event: str, keys: Iterable[Key], detail: str = "") -> None:
        """Append to the ledger, in the caller's transaction; the first line of a date counts a day."""
        now = self.clock.utc()
        self.db.execute("UPDATE area SET day = day + 1, date = ?1 WHERE date <> ?1", (now[:10],))
        self.db.executemany(
            "INSERT INTO ledger (time, event, job, idx, name, detail)"
            " SELECT ?, ?, id, ?, name, ? FROM jobs WHERE id = ?",
            [(now, event, index, detail, job) for job, index in keys],
        )


def _tasks_of(key: Key) -> tuple[int, int, int]:
    """Return a task, or with index 0 all tasks of a job, as a range: an index serves it, but not an OR."""
    job, index = key
    return job, index, index or LARGEST_INDEX

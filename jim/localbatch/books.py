"""The queue for its daemon. Call every method but `changed` inside a transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jim.localbatch.queue import Key, Queue

FORGOTTEN_AT_ONCE = 1000  # tasks


@dataclass(frozen=True, slots=True)
class Task:
    """A task that the queue records as started."""

    job: int
    index: int
    state: str
    wish: str | None
    boot: str
    pid: int | None
    birth: int | None
    deadline: float | None
    kill_at: float | None
    reason: str
    script: str
    memory_mb: int | None = None

    @property
    def key(self) -> Key:
        """Return the job and index."""
        return self.job, self.index


@dataclass(frozen=True, slots=True)
class Exit:
    """How a main process ended; without code and signal: nobody saw the end."""

    code: int | None = None
    signal: int | None = None
    reason: str = ""


class Books(Queue):
    """The daemon's reads and writes."""

    _version: int | None = None

    def changed(self) -> bool:
        """Tell whether another process has written since the last call."""
        before, self._version = self._version, self.db.execute("PRAGMA data_version").fetchone()[0]
        return before != self._version

    def started(self) -> list[Task]:
        """Return the tasks that are recorded as started and not as ended."""
        rows = self.db.execute(
            "SELECT job, idx, state, wish, boot, pid, birth, deadline, kill_at, reason, script, memory_mb"
            " FROM tasks JOIN jobs ON id = job WHERE state IN ('running', 'suspended')"
        )
        return [Task(*row) for row in rows]

    def ending(self) -> set[Key]:
        """Return the tasks whose main process is gone, but which may have other processes left."""
        return set(self.db.execute("SELECT job, idx FROM tasks WHERE state = 'ending'"))

    def script(self, job: int) -> str:
        """Return the script of a job."""
        return str(self.db.execute("SELECT script FROM jobs WHERE id = ?", (job,)).fetchone()[0])

    def running(self) -> int:
        """Count the slots in use."""
        return int(self.db.execute("SELECT count(*) FROM tasks WHERE state = 'running'").fetchone()[0])

    def work_left(self) -> bool:
        """Tell whether any task needs a daemon; held tasks need none."""
        some = "SELECT 1 FROM tasks WHERE state IN ('pending', 'running', 'suspended', 'ending') LIMIT 1"
        return self.db.execute(some).fetchone() is not None

    def next_due(self) -> float | None:
        """Return when the next limit passes, in seconds since boot."""
        due = "SELECT min(ifnull(kill_at, deadline)) FROM tasks WHERE state = 'running'"
        return self.db.execute(due).fetchone()[0]  # type: ignore[no-any-return]

    def intend(self, slots: int, now: float, boot: str) -> list[Task]:
        """Choose the next tasks, first come first served, and record their start before it happens."""
        chosen = "SELECT job, idx, script, wall FROM tasks JOIN jobs ON id = job WHERE state = 'pending' ORDER BY 1, 2"
        tasks = []
        for job, index, script, wall in self.db.execute(f"{chosen} LIMIT ?", (slots,)).fetchall():
            deadline = None if wall is None else now + wall
            self.db.execute(
                "UPDATE tasks SET state = 'running', boot = ?, deadline = ? WHERE job = ? AND idx = ?",
                (boot, deadline, job, index),
            )
            tasks.append(Task(job, index, "running", None, boot, None, None, deadline, None, "", script))
        self.note("starting", [task.key for task in tasks])
        return tasks

    def defer(self, key: Key, why: str) -> None:
        """Undo an intent: the process could not be made, so nothing was started."""
        self.db.execute(
            "UPDATE tasks SET state = 'pending', boot = NULL, deadline = NULL WHERE job = ? AND idx = ?", key
        )
        self.note("deferred", [key], why)
        wish = self.db.execute("SELECT wish FROM tasks WHERE job = ? AND idx = ?", key).fetchone()[0]
        if wish == "cancel":
            self.make_change("cancel", key, "pending", None)

    def born(self, key: Key, pid: int, birth: int) -> None:
        """Record a task's main process."""
        self.db.execute("UPDATE tasks SET pid = ?, birth = ? WHERE job = ? AND idx = ?", (pid, birth, *key))
        self.note("started", [key], f"pid {pid}")

    def gone(self, key: Key, end: Exit) -> None:
        """Record that a task's main process is gone: its slot is free, but the sweep is due."""
        self.db.execute(
            "UPDATE tasks SET state = 'ending', code = ?, signal = ?, wish = NULL,"
            " reason = CASE reason WHEN '' THEN ? ELSE reason END WHERE job = ? AND idx = ?",
            (end.code, end.signal, end.reason, *key),
        )

    def ended(self, keys: Iterable[Key]) -> None:
        """Record that no process of these tasks is left."""
        for key in keys:
            told = "SELECT code, signal, reason FROM tasks WHERE job = ? AND idx = ?"
            code, signal, reason = self.db.execute(told, key).fetchone()
            state = "cancelled" if reason == "cancelled" else "ended"
            self.close(key, state, f"exit {code} signal {signal} {reason}".replace("None", "-").rstrip())

    def forget(self) -> bool:
        """Remove some jobs with too old a history, each as a whole; tell whether any was removed."""
        old = "SELECT id FROM jobs WHERE ended < (SELECT day - history_days FROM area) ORDER BY ended LIMIT ?"
        removed = 0
        for job in self.db.execute(old, (FORGOTTEN_AT_ONCE,)).fetchall():
            if removed >= FORGOTTEN_AT_ONCE:  # each task counts, so that no verb waits long for the queue
                break
            self.db.execute("DELETE FROM jobs WHERE id = ?", job)
            self.db.execute("DELETE FROM ledger WHERE job = ?", job)
            removed += self.db.execute("DELETE FROM tasks WHERE job = ?", job).rowcount
        return removed > 0

    def warned(self, key: Key, reason: str, kill_at: float) -> None:
        """Record that TERM was sent, the reason, and when KILL is due."""
        sql = "UPDATE tasks SET state = 'running', reason = ?, kill_at = ? WHERE job = ? AND idx = ?"
        self.db.execute(sql, (reason, kill_at, *key))

    def suspended(self, key: Key, now: float) -> None:
        """Record that a task is stopped: its wall time stands still, and its slot is free."""
        self.db.execute(
            "UPDATE tasks SET state = 'suspended', wish = NULL, remaining = deadline - ?, deadline = NULL"
            " WHERE job = ? AND idx = ?",
            (now, *key),
        )

    def resumed(self, key: Key, now: float) -> None:
        """Record that a task continues."""
        sql = "UPDATE tasks SET state = 'running', wish = NULL, deadline = ? + remaining WHERE job = ? AND idx = ?"
        self.db.execute(sql, (now, *key))

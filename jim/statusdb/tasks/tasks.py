"""Tasks in an SQLite store: their rows, their journal and what is counted of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jim.database import MEMORY
from jim.errors import UnknownJob
from jim.statusdb.connected import Connected, StorePart
from jim.statusdb.task_rows import LIVE_TASKS, Task, TaskLine, TaskState
from jim.statusdb.task_spec import SourceSpec, Spec
from jim.statusdb.tasks.task_rules import RULES

LIVE = ", ".join(repr(state.value) for state in LIVE_TASKS)
ADD = (
    "INSERT INTO task (id, name, nonce, owner, spec, digest, state, throttle, priority, created, updated) "
    "VALUES (?, ?, ?, ?, ?, ?, 'configured', ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
LAST = "SELECT max(ifnull((SELECT max(id) FROM task), 0), ifnull((SELECT max(upstream) FROM source), 0))"
FORGET_OUTPUTS = (
    "UPDATE item SET output = -1 WHERE output > 0 AND output IN (SELECT id FROM output WHERE task = ?) AND task <> ?"
)
COUNT = (
    "INSERT INTO task_tally VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count "
    "WHERE excluded.count <> 0"
)
OF_SOURCE = "source "  # what the tally calls the items that a source was the first to bring, by its number
NEW = "UPDATE task_tally SET count = count + ? WHERE task = ? AND what = ?"
SET_SPEC = "UPDATE task SET spec = ? WHERE id = ?"
LFN = "json_extract(record, '$.lfn')"
MOVED = (  # what has the path of the state directory
    "UPDATE output SET place = :new || substr(place, length(:old) + 1) WHERE instr(place, :old) = 1",
    (
        f"UPDATE item SET record = json_set(record, '$.lfn', :new || substr({LFN}, length(:old) + 1)) "
        f"WHERE record <> '' AND instr({LFN}, :old) = 1"
    ),
)
UNSPLIT = (
    "SELECT r.grid, r.text, g.realm FROM request r JOIN grid_job g ON g.id = r.grid WHERE g.step = 'accepted' "
    "AND g.key LIKE 'task:%'"
)
OF_TASK = ("fix", "source", "pool_group", "item", "piece", "piece_item", "output", "wave", "task_tally", "task_journal")


def _task(row: Sequence[Any]) -> Task:
    values = list(row)
    values[6], values[12] = TaskState(values[6]), json.loads(values[12])
    return Task(*values)


def _moved(value: Any, old: str, new: str) -> Any:
    """Return a value of JSON in which all paths below one directory are below another."""
    if isinstance(value, str):
        return new + value.removeprefix(old) if value.startswith(old) else value
    if isinstance(value, list):
        return [_moved(each, old, new) for each in value]
    return {name: _moved(each, old, new) for name, each in value.items()} if isinstance(value, dict) else value


class Tasks(StorePart):
    """The part of a status DB about tasks as a whole."""

    def __init__(self, connected: Connected) -> None:
        super().__init__(connected)
        self._changed = set[int]()  # since the last question
        self._last_number = 0  # of a task that this store has seen, also if it was removed since
        self.times_changed = 0  # how often any task was found changed

    def touch(self, number: int) -> None:
        """Record, in a transaction, that something of a task changes."""
        self._changed.add(number)
        self.connected.show_tasks_anew()

    def mark(self, numbers: Iterable[int]) -> None:
        """Record that something of tasks has changed that people do not see, but that a move acts on."""
        self._changed.update(numbers)

    def changed(self) -> set[int]:
        """Return the tasks that this store has changed since the last call, and perhaps others."""
        changed, self._changed = self._changed, set()
        self.times_changed += bool(changed)
        return changed

    def all(self, *states: TaskState) -> list[Task]:
        """Return the tasks in these states, or all, in the order of their creation."""
        marks = ",".join("?" * len(states))
        where = f"WHERE state IN ({marks})" if states else ""
        return [_task(row) for row in self.db.execute(f"SELECT * FROM task {where} ORDER BY id", tuple(states))]

    def one(self, number: int) -> Task | None:
        """Return one task; None if it was removed."""
        return next(map(_task, self.db.execute("SELECT * FROM task WHERE id = ?", (number,))), None)

    def named(self, name: str) -> Task:
        """Return the task with a name."""
        found = self.db.execute("SELECT * FROM task WHERE name = ?", (name,))
        for row in found:
            return _task(row)
        where = self.connected.file.parent if self.connected.file != MEMORY else "a state directory without a status DB"
        raise UnknownJob(f"there is no task {name!r} in {where}")

    def any_live(self) -> bool:
        """Tell whether the keeper has to stay for a task."""
        return self.db.execute(f"SELECT 1 FROM task WHERE state IN ({LIVE}) LIMIT 1").fetchone() is not None

    def add(
        self,
        name: str,
        nonce: str,
        owner: str,
        spec: Spec,
        digest: str,
        throttle: Mapping[str, int],
        by: str,
    ) -> int:
        """Store a task, in place of one of this name that was not started; return its number, 0 if it is known."""
        now, row = self.clock.utc(), (json.dumps(spec.to_record()), digest)
        with self.transaction():
            old = self.db.execute("SELECT id, digest, state, tested FROM task WHERE name = ?", (name,)).fetchone()
            if old and (old[1] == digest or old[2] not in (TaskState.CONFIGURED, TaskState.READY)):
                return 0
            number, fixed = self._new_number(), bool(old and self.fixes(old[0]))
            if old:
                self.remove(old[0])
            values = (name, nonce, owner, *row, json.dumps(throttle), spec.priority, now, now)
            self.db.execute(ADD, (number, *values))
            self._add_sources(number, spec.sources)
            if old:  # what it feeds stays fed by it
                self.db.execute("UPDATE source SET upstream = ? WHERE upstream = ?", (number, old[0]))
            self.note(number, "replaced" if old else "created", by)
            if old and old[3] and old[3] == spec.to_test and not fixed:  # what a test depends on is as it was
                self.change(number, state=TaskState.READY, tested=old[3])
        return number

    def _new_number(self) -> int:
        """Return a number that no other task has had: what is remembered or under way may be about a removed one."""
        (last,) = self.db.execute(LAST).fetchone()
        self._last_number = max(self._last_number, last) + 1
        return self._last_number

    def _add_sources(self, number: int, sources: Sequence[SourceSpec]) -> None:
        for k, each in enumerate(sources):
            fed = (self.named(each.task).id, each.output) if each.kind == "task" else (0, "")
            sql = "INSERT INTO source (task, k, kind, upstream, stream) VALUES (?, ?, ?, ?, ?)"
            self.db.execute(sql, (number, k, each.kind, *fed))
            self.db.execute(COUNT, (number, f"{OF_SOURCE}{k}", "", "new", 0))

    def remove(self, number: int) -> None:
        """Forget a task with all its rows; items of others that came from it say so no more by a number."""
        with self.transaction():
            self._last_number = max(self._last_number, number)
            self.db.execute(FORGET_OUTPUTS, (number, number))
            for table in OF_TASK:
                self.db.execute(f"DELETE FROM {table} WHERE task = ?", (number,))
            for fact in ("store", "another"):
                self.db.execute("DELETE FROM meta WHERE name GLOB ?", (f"{fact} {number} *",))
            self.db.execute("DELETE FROM task WHERE id = ?", (number,))
            self.connected.show_tasks_anew()

    def change(self, number: int, **columns: Any) -> None:
        """Change a task; a new state is written to its journal.

        Why a task goes on is for its journal alone: it would be told long after that.
        """
        reason = columns.get("reason", "")
        if columns.get("state") is TaskState.RUNNING:
            columns["reason"] = ""
        if "throttle" in columns:
            columns["throttle"] = json.dumps(columns["throttle"])
        with self.transaction():
            if "state" in columns:
                self.note(number, columns["state"], reason)
            self.touch(number)
            names = ", ".join(f"{name} = ?" for name in (*columns, "updated"))
            values = (*columns.values(), self.clock.utc(), number)
            self.db.execute(f"UPDATE task SET {names} WHERE id = ?", values)

    def set_spec(self, number: int, spec: Spec) -> None:
        """Change what the task file said, as far as a person may change it later."""
        self.db.execute(SET_SPEC, (json.dumps(spec.to_record()), number))

    def move_places(self, old: str, new: str) -> None:
        """Note that the state directory has another path, with all that it keeps of tasks."""
        below = {"old": f"{old}/", "new": f"{new}/"}
        with self.transaction():
            for number, spec in self.db.execute("SELECT id, spec FROM task").fetchall():
                self.db.execute(SET_SPEC, (json.dumps(_moved(json.loads(spec), **below)), number))
            for number, *texts in self.db.execute(UNSPLIT).fetchall():
                request, realm = (text and json.dumps(_moved(json.loads(text), **below)) for text in texts)
                self.db.execute("UPDATE request SET text = ? WHERE grid = ?", (request, number))
                self.db.execute("UPDATE grid_job SET realm = ? WHERE id = ?", (realm, number))
            for change in MOVED:
                self.db.execute(change, below)

    def note(self, number: int, what: str, reason: str = "") -> None:
        """Add a line to the journal of a task."""
        line = (number, self.clock.utc(), what, reason.encode(errors="backslashreplace").decode())
        with self.transaction():
            self.touch(number)
            self.db.execute("INSERT INTO task_journal (task, at, what, reason) VALUES (?, ?, ?, ?)", line)

    def journal(self, number: int, last: int = 100) -> list[TaskLine]:
        """Return the last lines of a task's journal, oldest first."""
        sql = "SELECT seq, at, what, reason FROM task_journal WHERE task = ? ORDER BY seq DESC LIMIT ?"
        return [TaskLine(*row) for row in self.db.execute(sql, (number, last))][::-1]

    def add_fix(self, number: int, changes: Mapping[str, Any]) -> int:
        """Add changes of attributes for all further attempts of a task; return their number."""
        with self.transaction():
            found = self.db.execute("SELECT count(*) + 1 FROM fix WHERE task = ?", (number,)).fetchone()[0]
            row = (number, found, json.dumps(changes), self.clock.utc())
            self.db.execute("INSERT INTO fix VALUES (?, ?, ?, ?)", row)
            self.touch(number)
        return int(found)

    def fixes(self, number: int, upto: int | None = None) -> dict[int, dict[str, Any]]:
        """Return the fixes of a task by their numbers, up to one or all."""
        sql = "SELECT number, changes FROM fix WHERE task = ? AND number <= ifnull(?, number) ORDER BY number"
        return {found: json.loads(changes) for found, changes in self.db.execute(sql, (number, upto))}

    # What is counted

    def counts(self, number: int, what: str, grp: str | None = None) -> dict[str, int]:
        """Count the items or pieces of a task, or of one group of it, by state; without reading them."""
        where, values = ("AND grp = ?", [grp]) if grp is not None else ("", [])
        sql = f"SELECT state, sum(count) FROM task_tally WHERE task = ? AND what = ? {where} GROUP BY state"
        return {state: count for state, count in self.db.execute(sql, (number, what, *values)) if count}

    def sent(self) -> dict[int, int]:
        """Count the pieces of each task that are on the way."""
        sql = "SELECT task, sum(count) FROM task_tally WHERE what = 'pieces' AND state = 'sent' GROUP BY task"
        return {task: count for task, count in self.db.execute(sql) if count}

    def ready_above(self, priority: int) -> list[int]:
        """Return the running tasks of a higher priority with ready pieces."""
        sql = (
            "SELECT id FROM task WHERE state = 'running' AND priority > ? AND EXISTS ("
            "SELECT 1 FROM task_tally WHERE task = id AND what = 'pieces' AND state = 'ready' AND count > 0)"
        )
        return [number for (number,) in self.db.execute(sql, (priority,))]

    def counts_by_group(self, number: int) -> Iterator[tuple[str, str, str, int]]:
        """Yield group, what is counted (items, pieces or outputs), state and count."""
        sql = (
            "SELECT grp, what, state, count FROM task_tally WHERE task = ? AND count > 0 AND state <> 'new' "
            "ORDER BY grp, what, state"
        )
        yield from self.db.execute(sql, (number,))

    def count_new(self, task: int, k: int, count: int) -> None:
        """Count items that a source is the first to bring."""
        if count:
            self.db.execute(NEW, (count, task, f"{OF_SOURCE}{k}"))

    def new_of_sources(self, task: int) -> dict[int, int]:
        """Count the items that each source was the first to bring."""
        found = self.db.execute("SELECT what, count FROM task_tally WHERE task = ? AND state = 'new'", (task,))
        return {int(what.removeprefix(OF_SOURCE)): count for what, count in found}

    def recount(self, task: int, what: str, changes: Iterable[tuple[str, str, int]]) -> None:
        """Let the tally follow: group, state, and how many more."""
        self.touch(task)
        self.db.executemany(COUNT, ((task, what, grp, state, count) for grp, state, count in changes))

    def moved(self, task: int, what: str, found: Iterable[tuple[str, str, int]], now: str) -> None:
        """Let the tally follow a move of so many of each group and state to another state."""
        for grp, was, count in found:
            if was != now:
                self.recount(task, what, [(grp, was, -count), (grp, now, count)])

    def wrong(self) -> dict[str, int]:
        """Count the violations of what must hold of tasks at any moment, by its name."""
        return {
            name: int(self.db.execute(f"SELECT count(*) FROM ({sql})").fetchone()[0]) for name, sql in RULES.items()
        }

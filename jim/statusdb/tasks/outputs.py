"""Output pools of tasks in an SQLite store: what each piece promises, and what it has brought."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jim.statusdb.connected import Connected, StorePart
from jim.statusdb.pieces import as_json
from jim.statusdb.task_rows import OUTPUT_FOLLOWS, Brought, Output, OutputState, PieceRow, PieceState, Todo
from jim.statusdb.tasks.pools import ids
from jim.statusdb.tasks.tasks import Tasks

PROMISE = "INSERT INTO output (task, p, stream, k, grp, state, promised, changed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
OF_PIECES = "task = ? AND p IN (SELECT value FROM json_each(?))"


OUTPUTS = "SELECT * FROM output"
ASIDE = "withdrawn to"  # in the record of an output whose file gets this name


def read_output(row: Sequence[Any]) -> Output:
    """Read an output from its row."""
    values = list(row)
    values[6], values[7], values[15] = (
        OutputState(values[6]),
        Todo(values[7]),
        json.loads(values[15]) if values[15] else {},
    )
    return Output(*values)


def pool_of(stream: str) -> str:
    """Return under which word an output pool is counted."""
    return f"output {stream}"


def store_fact(task: int, stream: str) -> str:
    """Return the name of the fact that says which directory the store of an output pool is."""
    return f"store {task} {stream}"


def another_fact(task: int, what: str | int) -> str:
    """Return the name of the fact that the store of an output pool, or the directory of a source, is another one."""
    return f"another {task} {what}" if isinstance(what, str) else f"another {task} source {what}"


class Following:
    """What follows, in the same transactions, when outputs and pieces change: here nothing, in chains.py much."""

    def promised(self, outputs: Sequence[int]) -> None:
        """Follow new promises."""

    def outputs_moved(self, outputs: Sequence[int], now: OutputState) -> None:
        """Follow outputs into another state."""

    def planned(self, task: int, first: int, upto: int) -> None:
        """Follow the end of a plan: these pieces count."""

    def pieces_moved(self, task: int, numbers: Sequence[int], now: PieceState) -> None:
        """Follow pieces into another state."""

    def made_ready(self, task: int, numbers: Sequence[int]) -> None:
        """Follow pieces that were sent, and are to be released once more."""

    def taken_back(self, task: int, before: Sequence[PieceRow]) -> None:
        """Follow pieces that were taken back, as they were before."""


class Outputs(StorePart):
    """The part of a status DB about what pieces of tasks bring."""

    def __init__(self, connected: Connected, tasks: Tasks) -> None:
        super().__init__(connected)
        self.tasks, self.following = tasks, Following()

    def of_piece(self, task: int, p: int) -> list[Output]:
        """Return what a piece brings."""
        sql = "SELECT * FROM output WHERE task = ? AND p = ? ORDER BY stream, k"
        return list(map(read_output, self.db.execute(sql, (task, p))))

    def one(self, number: int) -> Output | None:
        """Return one output by its number."""
        return next(map(read_output, self.db.execute("SELECT * FROM output WHERE id = ?", (number,))), None)

    def to_do(self, task: int, before: float, limit: int) -> list[Output]:
        """Return outputs with which a worker has something to do by now."""
        sql = (  # nothing is stored of a piece that may still fail
            "SELECT o.* FROM output o INDEXED BY output_to_do JOIN piece p ON p.task = o.task AND p.p = o.p "
            "WHERE o.task = ? AND o.todo <> '' AND o.due <= ? AND (o.todo <> 'store' OR p.state = 'completed') LIMIT ?"
        )
        return list(map(read_output, self.db.execute(sql, (task, before, limit))))

    def is_used(self, task: int, p: int, but: int = 0) -> bool:
        """Tell whether anything that a piece has brought was given to another task, or is stored, but one output."""
        sql = (
            "SELECT 1 FROM output o LEFT JOIN item i ON i.output = o.id AND i.output > 0 "
            "LEFT JOIN piece_item x ON x.item = i.id LEFT JOIN piece q ON q.task = x.task AND q.p = x.p "
            "WHERE o.task = ? AND o.p = ? AND (o.state = 'stored' AND o.id <> ? OR q.wave > 0) LIMIT 1"
        )
        return self.db.execute(sql, (task, p, but)).fetchone() is not None

    def next_due(self, task: int) -> float | None:
        """Return when a worker may have something to do with an output of a task; None: never."""
        sql = "SELECT min(due) FROM output INDEXED BY output_to_do WHERE task = ? AND todo <> ''"
        due: float | None = self.db.execute(sql, (task,)).fetchone()[0]
        return due

    def in_trouble(self, task: int, limit: int) -> list[Output]:
        """Return outputs that could not be read or stored so far."""
        sql = "SELECT * FROM output INDEXED BY output_to_do WHERE task = ? AND todo <> '' AND reason <> '' LIMIT ?"
        return list(map(read_output, self.db.execute(sql, (task, limit))))

    def any_to_do(self, task: int, w: int) -> bool:
        """Tell whether an output of a wave is still to be read or stored."""
        sql = (
            "SELECT 1 FROM output o INDEXED BY output_to_do JOIN piece p ON p.task = o.task AND p.p = o.p "
            "WHERE o.task = ? AND o.todo <> '' AND p.wave = ? LIMIT 1"
        )
        return self.db.execute(sql, (task, w)).fetchone() is not None

    def bring(self, task: int, p: int, stream: str, files: Sequence[Brought], todo: Todo, fix: int) -> None:
        """Record the files that a piece has left for an output pool, in place of its promises; once."""
        known = [each for each in self.of_piece(task, p) if each.stream == stream]
        promised = [each.id for each in known if each.state is not OutputState.WITHDRAWN]
        if any(each.state not in (OutputState.PROMISED, OutputState.WITHDRAWN) for each in known):
            return
        with self.transaction():
            self._move_outputs(promised[len(files) :], OutputState.WITHDRAWN)
            numbers = range(len(known), len(known) + len(files) - len(promised))
            self._add_promises((task, p, stream, k, known[0].grp) for k in numbers)
            after = [each for each in self.of_piece(task, p) if each.stream == stream]
            awaited = [each.id for each in after if each.state is OutputState.PROMISED]
            sql = "UPDATE output SET name = ?, place = ?, sha256 = ?, bytes = ?, todo = ?, fix = ? WHERE id = ?"
            self.db.executemany(sql, ((*file, todo, fix, each) for file, each in zip(files, awaited, strict=True)))
            self._move_outputs(awaited, OutputState.VERIFIED)

    def change(self, number: int, **columns: Any) -> None:
        """Change facts of an output that are not its state."""
        if "record" in columns:
            columns["record"] = as_json(columns["record"]) if columns["record"] else ""
        names = ", ".join(f"{name} = ?" for name in columns)
        with self.transaction():
            self.connected.show_tasks_anew()
            self.db.execute(f"UPDATE output SET {names} WHERE id = ?", (*columns.values(), number))

    def is_stored(self, output: Output, place: str) -> None:
        """Record that an output has its place in a store."""
        with self.transaction():
            self.change(output.id, place=place, todo=Todo.NOTHING, reason="")
            self._move_outputs([output.id], OutputState.STORED)

    def is_lost(self, output: Output) -> None:
        """Record that the file of an output is gone or changed; nothing was made of it, and its piece has failed."""
        with self.transaction():
            self.change(output.id, reason="")
            if output.state is OutputState.STORED:
                self._move_outputs([output.id], OutputState.BROKEN)

    def make_anew(self, task: int, p: int, aside: Mapping[int, tuple[str, str]]) -> None:
        """Break what a completed piece has brought: it is released once more. Stored files get other names first."""
        rows = self.of_piece(task, p)
        brought = [each for each in rows if each.state in (OutputState.VERIFIED, OutputState.STORED)]
        with self.transaction():
            self._move_outputs([each.id for each in brought], OutputState.BROKEN)
            for each in brought:
                place, name = aside.get(each.id) or (each.place, "")
                todo, record = (Todo.WITHDRAW, {ASIDE: name}) if name else (Todo.NOTHING, {})
                self.change(each.id, todo=todo, place=place, record=record, due=0, tries=0, reason="")
            empty = {each.stream for each in rows} - {o.stream for o in rows if o.state is not OutputState.WITHDRAWN}
            self._add_promises((task, p, name, sum(o.stream == name for o in rows), rows[0].grp) for name in empty)

    def is_withdrawn(self, output: Output) -> None:
        """Record that the stored file of an output that is made again has another name."""
        self.change(output.id, todo=Todo.NOTHING, record={}, reason="", name="", place="", sha256="", bytes=0)

    def is_given_up(self, output: Output, why: str) -> None:
        """Record that an output will get no place in a store: its task is cancelled."""
        with self.transaction():
            self.change(output.id, todo=Todo.NOTHING, reason=why)
            self._move_outputs([output.id], OutputState.BROKEN)

    # What follows in the transactions that change pieces

    def promise(self, task: int, first: int, upto: int) -> None:
        """Promise what the pieces from a number on bring."""
        row = self.tasks.one(task)
        pools = row.spec.outputs if row else ()
        found = self.db.execute("SELECT p, grp FROM piece WHERE task = ? AND p >= ? AND p < ?", (task, first, upto))
        new = list(found) if pools else []
        for each in pools:
            count = each.each if isinstance(each.each, int) else 1
            self._add_promises((task, p, each.name, k, grp) for p, grp in new for k in range(count))

    def _add_promises(self, new: Iterable[tuple[int, int, str, int, str]]) -> None:
        """Add promises, and count them."""
        made = list[int]()
        now, counts = self.clock.steady(), dict[tuple[int, str, str], int]()
        for task, p, stream, k, grp in new:
            row = (task, p, stream, k, grp, OutputState.PROMISED, now, now)
            made.append(int(self.db.execute(PROMISE, row).lastrowid or 0))
            counts[task, stream, grp] = counts.get((task, stream, grp), 0) + 1
        for (task, stream, grp), count in counts.items():
            self.tasks.recount(task, pool_of(stream), [(grp, OutputState.PROMISED, count)])
        self.following.promised(made)

    def follow_pieces(self, task: int, numbers: Sequence[int], now: PieceState) -> None:
        """Let what pieces bring follow their states."""
        if now not in OUTPUT_FOLLOWS:
            return
        before, state = OUTPUT_FOLLOWS[now]
        marks = ",".join("?" * len(before))
        sql = f"SELECT id FROM output WHERE {OF_PIECES} AND state IN ({marks})"
        moving = [number for (number,) in self.db.execute(sql, (task, ids(numbers), *before))]
        if moving:
            done = f"UPDATE output SET todo = '' WHERE {OF_PIECES} AND todo NOT IN ('', 'withdraw')"
            self.db.execute(done, (task, ids(numbers)))
            self._move_outputs(moving, state)

    def _move_outputs(self, numbers: Sequence[int], now: OutputState) -> None:
        """Give outputs another state; counts follow."""
        packed = ids(numbers)
        which = "id IN (SELECT value FROM json_each(?))"
        sql = f"SELECT task, stream, grp, state, count(*) FROM output WHERE {which} GROUP BY 1, 2, 3, 4"
        for task, stream, grp, was, count in self.db.execute(sql, (packed,)).fetchall():
            self.tasks.moved(task, pool_of(stream), [(grp, was, count)], now)
        sql = f"UPDATE output SET state = ?, changed = ? WHERE {which}"
        self.db.execute(sql, (now, self.clock.steady(), packed))
        self.following.outputs_moved(numbers, now)

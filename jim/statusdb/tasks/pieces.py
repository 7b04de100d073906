"""Pieces of tasks in an SQLite store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jim.evidence.exit_record import times_of
from jim.model import Kind
from jim.statusdb.connected import StorePart
from jim.statusdb.pieces import as_json
from jim.statusdb.short_forms import unpacked
from jim.statusdb.task_rows import (
    LIVE_PIECES,
    REDO,
    WANTED,
    Ended,
    ItemState,
    NewPiece,
    Part,
    PieceRow,
    PieceState,
)
from jim.statusdb.tasks.outputs import Following, Outputs
from jim.statusdb.tasks.pools import Pools, ids
from jim.statusdb.tasks.tasks import Tasks

ADD_PIECE = "INSERT INTO piece (task, p, grp, state, record, turn, planned) VALUES (?, ?, ?, 'ready', ?, ?, ?)"
ADD_PART = "INSERT INTO piece_item VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
ITEMS_OF = (
    "SELECT item, count(DISTINCT p) FROM piece_item WHERE task = ? AND p IN (SELECT value FROM json_each(?)) "
    "GROUP BY item"
)
RECORDS = (
    "SELECT p.p, a.record FROM piece p JOIN wave w ON w.task = p.task AND w.t = 0 AND w.w = p.wave "
    "JOIN attempt a ON a.grid = w.grid AND a.n = p.n AND a.verdict = 'completed' AND a.record <> '' "
    "WHERE p.task = ? AND p.p IN (SELECT value FROM json_each(?))"
)


def read_piece(row: Sequence[Any]) -> PieceRow:
    """Read a piece from its row."""
    task, p, grp, state, record, wave, n, attempts, reason, kind, *more = row
    known = task, p, grp, PieceState(state), json.loads(record), wave, n, attempts
    return PieceRow(*known, reason, Kind(kind), *more)


class Pieces(StorePart):
    """The part of a status DB about the pieces of tasks."""

    def __init__(self, tasks: Tasks, pools: Pools, outputs: Outputs) -> None:
        super().__init__(tasks.connected)
        self.tasks, self.pools, self.outputs, self.following = tasks, pools, outputs, Following()

    def drop_unplanned(self, task: int) -> None:
        """Remove the pieces of a plan that did not come to its end."""
        with self.transaction():
            for table in ("piece_item", "piece"):
                sql = f"DELETE FROM {table} WHERE task = ?1 AND p >= (SELECT next_piece FROM task WHERE id = ?1)"
                self.db.execute(sql, (task,))

    def add(self, task: int, first: int, pieces: Iterable[NewPiece], turn: int = 1) -> None:
        """Store pieces that do not count before `end_plan`; those of turn 0 are released before others."""
        now = self.clock.steady()
        with self.transaction():
            for p, each in enumerate(pieces, first):
                self.db.execute(ADD_PIECE, (task, p, each.grp, as_json(dict(each.record)), turn, now))
                parts = ((task, p, part.item, at, *part[1:]) for at, part in enumerate(each.parts))
                self.db.executemany(ADD_PART, parts)

    def end_plan(self, task: int, upto: int, acquired: Iterable[int]) -> None:
        """Let the pieces below a number count, and these items be acquired. Ranges are cut by `cut_range`."""
        first = self.db.execute("SELECT next_piece FROM task WHERE id = ?", (task,)).fetchone()[0]
        with self.transaction():
            new = list(range(first, upto))
            self.tasks.change(task, next_piece=upto)
            sql = "SELECT grp, state, count(*) FROM piece WHERE task = ? AND p >= ? AND p < ? GROUP BY 1, 2"
            self.tasks.recount(task, "pieces", self.db.execute(sql, (task, first, upto)).fetchall())
            self._count_pieces(task, new, live=1, failed=0)
            self.pools.move_items(task, acquired, ItemState.ACQUIRED)
            self.outputs.promise(task, first, upto)
            self.following.planned(task, first, upto)

    def all_available(self, task: int, items: Iterable[int]) -> bool:
        """Tell whether all of these items are still in no piece."""
        sql = (
            "SELECT 1 FROM item WHERE id IN (SELECT value FROM json_each(?)) "
            "AND state NOT IN ('available', 'promised') LIMIT 1"
        )
        return self.db.execute(sql, (ids(items),)).fetchone() is None

    def cut_range(self, task: int, item: int, upto: int, *, wholly: bool) -> None:
        """Record how far a range of events is in pieces; one that is not wholly cut is still available."""
        with self.transaction():
            self.pools.move_items(task, [item], ItemState.ACQUIRED if wholly else ItemState.AVAILABLE, upto=upto)

    def one(self, task: int, p: int) -> PieceRow | None:
        """Return one piece of a task."""
        sql = "SELECT * FROM piece WHERE task = ?1 AND p = ?2 AND p < (SELECT next_piece FROM task WHERE id = ?1)"
        return next(map(read_piece, self.db.execute(sql, (task, p))), None)

    def ready(self, task: int, limit: int) -> list[PieceRow]:
        """Return the first pieces to release; what they have stored before must have another name."""
        sql = (
            "SELECT * FROM piece INDEXED BY piece_ready WHERE task = ?1 AND state = 'ready' "
            "AND p < (SELECT next_piece FROM task WHERE id = ?1) AND NOT EXISTS "
            "(SELECT 1 FROM output o WHERE o.task = ?1 AND o.p = piece.p AND o.todo = 'withdraw') "
            "ORDER BY turn, p LIMIT ?2"
        )
        return list(map(read_piece, self.db.execute(sql, (task, limit))))

    def failed(self, task: int, limit: int = -1) -> list[PieceRow]:
        """Return the failed pieces."""
        sql = "SELECT * FROM piece INDEXED BY piece_failed WHERE task = ? AND state = 'failed' ORDER BY p LIMIT ?"
        return list(map(read_piece, self.db.execute(sql, (task, limit))))

    def want_again(self, task: int, numbers: Iterable[int], why: int = WANTED) -> None:
        """Record that these failed pieces are to be tried again, and why."""
        sql = "UPDATE piece SET again = ? WHERE task = ? AND p IN (SELECT value FROM json_each(?))"
        self.db.execute(sql, (why, task, ids(numbers)))

    def failed_since(self, task: int, since: float) -> list[PieceRow]:
        """Return the pieces that have failed since a time, and were not tried again after a bad time before."""
        sql = (
            "SELECT * FROM piece INDEXED BY piece_failed WHERE task = ? AND state = 'failed' AND ended >= ? "
            "AND again = 0 ORDER BY p"
        )
        return list(map(read_piece, self.db.execute(sql, (task, since))))

    def are_tried_again(self, task: int, numbers: Iterable[int]) -> None:
        """Record that these pieces were tried again after a bad time."""
        sql = "UPDATE piece SET again = 1 WHERE task = ? AND p IN (SELECT value FROM json_each(?))"
        self.db.execute(sql, (task, ids(numbers)))

    def of_wave(self, task: int, w: int) -> list[PieceRow]:
        """Return the pieces that a wave has, by their local jobs."""
        sql = "SELECT * FROM piece INDEXED BY piece_in_wave WHERE task = ? AND wave = ? AND wave > 0 ORDER BY n"
        return list(map(read_piece, self.db.execute(sql, (task, w))))

    def parts_of(self, task: int, p: int) -> list[Part]:
        """Return the parts of items that a piece may process."""
        sql = (
            "SELECT item, first_event, last_event, first_lumi, last_lumi, run FROM piece_item "
            "WHERE task = ? AND p = ? ORDER BY item, part"
        )
        return [Part(*row) for row in self.db.execute(sql, (task, p))]

    def take_back(self, task: int, numbers: Iterable[int]) -> None:
        """Take back pieces that were not sent, all that share items with one another: these are available again.

        What a person has given up of a failed piece stays so.
        """
        those = list(numbers)
        with self.transaction():
            before = [each for p in those if (each := self.one(task, p))]
            self.move(task, [Ended(p, PieceState.TAKEN_BACK) for p in those])
            found = [item for item, _ in self.db.execute(ITEMS_OF, (task, ids(those)))]
            items = [each for each in self.pools.items(task, found).values() if each.state is not ItemState.DROPPED]
            self.pools.move_items(task, [each.id for each in items], ItemState.AVAILABLE)
            for grp in {each.grp for each in items}:
                self.pools.make_dirty(task, grp)
            self.following.taken_back(task, before)

    def with_item(self, item: int) -> list[int]:
        """Return the pieces that an item is in."""
        return [p for (p,) in self.db.execute("SELECT DISTINCT p FROM piece_item WHERE item = ? ORDER BY p", (item,))]

    def completed(self, task: int, grp: str) -> list[int]:
        """Return the completed pieces of a group."""
        sql = "SELECT p FROM piece WHERE task = ? AND grp = ? AND state = 'completed' ORDER BY p"
        return [p for (p,) in self.db.execute(sql, (task, grp))]

    def made_of(self, task: int, p: int) -> list[PieceRow]:
        """Return the pieces of other tasks that were sent with what a piece has brought."""
        sql = (
            "SELECT DISTINCT q.* FROM output o JOIN item i INDEXED BY item_of ON i.output = o.id AND i.output > 0 "
            "JOIN piece_item x INDEXED BY piece_item_of ON x.item = i.id JOIN piece q ON q.task = x.task AND q.p = x.p "
            "WHERE o.task = ? AND o.p = ? AND q.wave > 0 AND q.state IN ('sent', 'completed', 'failed')"
        )
        return list(map(read_piece, self.db.execute(sql, (task, p))))

    def go_first(self, task: int, numbers: Iterable[int]) -> None:
        """Let pieces be released before others."""
        sql = "UPDATE piece SET turn = 0 WHERE task = ? AND p IN (SELECT value FROM json_each(?))"
        self.db.execute(sql, (task, ids(numbers)))

    def move(self, task: int, ended: Iterable[Ended]) -> None:
        """Give pieces other states; counts and items follow."""
        by_end: dict[Ended, list[int]] = {}
        for each in ended:
            by_end.setdefault(each._replace(p=0), []).append(each.p)
        with self.transaction():
            for end, those in by_end.items():
                self._move_pieces(task, those, end)

    def ready_again(self, task: int, attempts: Mapping[int, int], reason: str) -> None:
        """Let sent pieces be released once more: each had so many attempts."""
        with self.transaction():
            self.move(task, [Ended(p, PieceState.READY, reason) for p in attempts])
            sql = (
                "UPDATE piece SET wave = 0, n = 0, attempts = attempts + ?, "
                "again = CASE again WHEN ? THEN 0 ELSE again END WHERE task = ? AND p = ?"
            )
            self.db.executemany(sql, ((count, REDO, task, p) for p, count in attempts.items()))
            self.following.made_ready(task, list(attempts))

    def _move_pieces(self, task: int, numbers: Sequence[int], end: Ended) -> None:
        which = "task = ? AND p IN (SELECT value FROM json_each(?))"
        sql = f"SELECT grp, state, count(*), json_group_array(p) FROM piece WHERE {which} GROUP BY 1, 2"
        for grp, was, count, those in self.db.execute(sql, (task, ids(numbers))).fetchall():
            self.tasks.moved(task, "pieces", [(grp, was, count)], end.state)
            live = (end.state in LIVE_PIECES) - (was in LIVE_PIECES)
            failed = (end.state == PieceState.FAILED) - (was == PieceState.FAILED)
            self._count_pieces(task, json.loads(those), live=live, failed=failed)
            self.outputs.follow_pieces(task, json.loads(those), end.state)
        change = f"UPDATE piece SET state = ?, reason = ?, kind = ?, ended = ? WHERE {which}"
        values = (end.state, end.reason, end.kind, self.clock.steady(), task, ids(numbers))
        self.db.execute(change, values)
        if end.state is PieceState.COMPLETED:
            self._note_seconds(task, numbers)
        self.pools.derive_items(task, [item for item, _ in self.db.execute(ITEMS_OF, (task, ids(numbers)))])
        self.following.pieces_moved(task, numbers, end.state)

    def _note_seconds(self, task: int, numbers: Sequence[int]) -> None:
        """Record how long the completed attempts of pieces took, by their exit records."""
        found = self.db.execute(RECORDS, (task, ids(numbers))).fetchall()
        times = [(taken[0], task, p) for p, record in found if (taken := times_of(unpacked(record)))]
        self.db.executemany("UPDATE piece SET seconds = ? WHERE task = ? AND p = ?", times)

    def _count_pieces(self, task: int, numbers: Sequence[int], *, live: int, failed: int) -> list[int]:
        """Count pieces that become, or stop being, live or failed, at their items; return these."""
        found = self.db.execute(ITEMS_OF, (task, ids(numbers))).fetchall()
        if live or failed:
            sql = "UPDATE item SET live = live + ?, failed = failed + ? WHERE id = ?"
            self.db.executemany(sql, ((live * count, failed * count, item) for item, count in found))
        return [item for item, _ in found]

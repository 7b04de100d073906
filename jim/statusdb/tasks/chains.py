"""Chains of tasks in an SQLite store: outputs of one task are items of others, which it feeds.

What a task brings reaches the tasks that it feeds in the same transaction: a promise becomes an item that is not there
yet, a file makes it available, and a piece is ready once nothing of it is missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby

from jim.statusdb.connected import StorePart
from jim.statusdb.pieces import as_json
from jim.statusdb.task_rows import (
    DAMAGED,
    UNSENT,
    Ended,
    Item,
    ItemState,
    Output,
    OutputState,
    PieceRow,
    PieceState,
    Source,
    TaskState,
    Todo,
)
from jim.statusdb.task_spec import SourceSpec
from jim.statusdb.tasks.outputs import OUTPUTS, Following, Outputs, read_output
from jim.statusdb.tasks.pieces import Pieces, read_piece
from jim.statusdb.tasks.pools import Pools, ids
from jim.statusdb.tasks.tasks import Tasks

THERE, PROMISED, BROKEN = 1, 0, -1  # of an item
OVER = (TaskState.CANCELLING, TaskState.CANCELLED)
# Of pieces that are taken back, before or after they are: the rest is planned anew. Sent ones have brought nothing.
ANEW = (*UNSENT, PieceState.FAILED, PieceState.TAKEN_BACK)
ADD_FED = (
    "INSERT INTO item (task, name, grp, state, since, size, record, there, output) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT DO NOTHING"
)
MISSING = (
    "UPDATE piece SET missing = (SELECT count(DISTINCT x.item) FROM piece_item x JOIN item i ON i.id = x.item "
    "WHERE x.task = piece.task AND x.p = piece.p AND i.there < 1) "
    "WHERE task = ? AND p IN (SELECT value FROM json_each(?))"
)
HOLDERS = (  # the pieces that wait for an item, or have failed with it
    "SELECT DISTINCT p.* FROM piece_item x JOIN piece p ON p.task = x.task AND p.p = x.p JOIN task t ON t.id = p.task "
    "WHERE x.item = ? AND p.p < t.next_piece AND p.state IN ('waiting', 'ready', 'failed')"
)


def item_name(output: Output) -> str:
    """Return the name that an output has as an item of a task that it feeds."""
    return f"{output.stream}/{output.p}{f'.{output.k}' if output.k else ''}"


BEHIND = (  # of a file without events, the first part is given to a payload all the same
    "SELECT p.p FROM piece p JOIN piece_item x ON x.task = p.task AND x.p = p.p JOIN item i ON i.id = x.item "
    "WHERE p.task = ? AND p.p IN (SELECT value FROM json_each(?)) AND p.state IN ('waiting', 'ready', 'failed') "
    "GROUP BY p.p HAVING min(x.first_event > 0 AND i.output > 0 AND i.there = 1 AND x.first_event >= "
    "ifnull(CASE WHEN i.record <> '' THEN json_extract(i.record, '$.events') END, x.first_event + 1)) = 1"
)


def _pool(output: Output) -> tuple[int, str]:
    return output.task, output.stream


def is_there(output: Output) -> bool:
    """Tell whether an output has its place, as far as the state of its piece allows that."""
    return output.state is OutputState.STORED or (output.state is OutputState.VERIFIED and not output.todo)


class Chains(StorePart, Following):
    """The part of a status DB about tasks that feed one another."""

    def __init__(self, tasks: Tasks, pools: Pools, outputs: Outputs, pieces: Pieces) -> None:
        super().__init__(tasks.connected)
        self.tasks, self.pools, self.outputs, self.pieces = tasks, pools, outputs, pieces
        outputs.following = pieces.following = self

    def fed_by(self, task: int) -> list[Source]:
        """Return the sources that a task fills."""
        sql = "SELECT * FROM source INDEXED BY source_of WHERE upstream = ? AND upstream > 0 ORDER BY task, k"
        return [Source(*row) for row in self.db.execute(sql, (task,))]

    def fed_tasks(self, tasks: Iterable[int]) -> set[int]:
        """Return the tasks that these ones feed."""
        sql = (
            "SELECT s.task FROM json_each(?) e CROSS JOIN source s INDEXED BY source_of ON s.upstream = e.value "
            "WHERE s.upstream > 0"
        )
        return {number for (number,) in self.db.execute(sql, (ids(tasks),))}

    def outputs_after(self, task: int, stream: str, above: int, limit: int) -> list[Output]:
        """Return outputs of a pool in the order in which they were promised, above a number."""
        sql = "SELECT * FROM output WHERE task = ? AND stream = ? AND id > ? ORDER BY id LIMIT ?"
        return list(map(read_output, self.db.execute(sql, (task, stream, above, limit))))

    def feed(self, source: Source, outputs: Iterable[Output]) -> None:
        """Make items of outputs that were there before a task; those that are known stay as they are."""
        some = [each for each in outputs if each.state not in (OutputState.REPLACED, OutputState.WITHDRAWN)]
        completed = self._of_completed([each.id for each in some])
        there = [each for each in some if is_there(each) and each.id in completed]
        broken = [each for each in some if each.state is OutputState.BROKEN]
        with self.transaction():
            self._feed(source, there, THERE)
            self._feed(source, broken, BROKEN)
            self._feed(source, [each for each in some if each not in there and each not in broken], PROMISED)

    def _of_completed(self, outputs: Sequence[int]) -> set[int]:
        sql = (
            "SELECT o.id FROM output o JOIN piece p ON p.task = o.task AND p.p = o.p "
            "WHERE o.id IN (SELECT value FROM json_each(?)) AND p.state = 'completed'"
        )
        return {number for (number,) in self.db.execute(sql, (ids(outputs),))}

    def _spec_of(self, source: Source) -> SourceSpec | None:
        task = self.tasks.one(source.task)
        return task.spec.sources[source.k] if task and task.state not in OVER else None

    def _feed(self, source: Source, outputs: Sequence[Output], there: int) -> None:
        """Add items that a task is fed with, if it may have them yet; their groups are to be planned."""
        spec = self._spec_of(source) if outputs else None
        if not spec or (there != THERE and not spec.promises):
            return
        state = ItemState.AVAILABLE if there == THERE else ItemState.PROMISED
        last: dict[str, Output] = {}
        expected, now, new = self._expected(outputs[0]), self.clock.steady(), dict[str, int]()
        for each in outputs:
            size, record = (
                (each.bytes, self._record(each)) if there == THERE else (0, expected or self._runs_before(each))
            )
            row = (source.task, item_name(each), each.grp, state, now, size, record, there, each.id)
            if self.db.execute(ADD_FED, row).rowcount:
                new[each.grp], last[each.grp] = new.get(each.grp, 0) + 1, each
        for grp, count in new.items():
            self.tasks.recount(source.task, "items", [(grp, state, count)])
            self.pools.make_dirty(source.task, grp)
            if (task := self.tasks.one(source.task)) and task.state is TaskState.FINISHED:
                self._open(source, last[grp], "has come")  # a person had closed the pool
        self.tasks.count_new(source.task, source.k, sum(new.values()))

    def _record(self, output: Output) -> str:
        return as_json({"lfn": output.place, **output.record})

    def _expected(self, output: Output) -> str:
        """Return what is known of a file before it is there."""
        task = self.tasks.one(output.task)
        pools = task.spec.outputs if task else ()
        expects = next((each.expects for each in pools if each.name == output.stream), None)
        return as_json(expects) if expects else ""

    def _runs_before(self, output: Output) -> str:
        """Return the runs of what the piece of an output works on: they are those of the output, too."""
        sql = (
            "SELECT i.record FROM piece_item x JOIN item i ON i.id = x.item "
            "WHERE x.task = ? AND x.p = ? AND i.record LIKE '%\"runs\"%'"
        )
        runs: dict[str, set[int]] = {}
        for (record,) in self.db.execute(sql, (output.task, output.p)):
            for run, lumis in json.loads(record).get("runs", {}).items():
                runs.setdefault(run, set()).update(lumis)
        return as_json({"runs": {run: sorted(lumis) for run, lumis in runs.items()}}) if runs else ""

    # What follows in the transactions that change outputs and pieces

    def promised(self, outputs: Sequence[int]) -> None:
        """Let promises be items of the tasks that they are for; groups that were closed are opened again."""
        for _, some in groupby(sorted(self.outputs_by_id(outputs), key=_pool), key=_pool):
            those = list(some)
            for source in self._sources_of(those[0]):
                for first in {each.grp: each for each in reversed(those)}.values():
                    self._open(source, first)
                self._feed(source, those, PROMISED)

    def outputs_by_id(self, numbers: Iterable[int]) -> list[Output]:
        """Return outputs by their numbers."""
        sql = f"{OUTPUTS} WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
        return list(map(read_output, self.db.execute(sql, (ids(numbers),))))

    def _sources_of(self, output: Output) -> list[Source]:
        return [each for each in self.fed_by(output.task) if each.stream == output.stream]

    def _open(self, source: Source, output: Output, why: str = "is promised") -> None:
        """Open a group of a task that was closed: more is promised to it, or may be. It was not late."""
        task, group = self.tasks.one(source.task), self.pools.group(source.task, output.grp)
        if task is None or task.state in OVER:
            return
        if source.closed:
            self.pools.set_source(task.id, source.k, closed="")
        if group and group.closed:
            self.pools.set_group(task.id, output.grp, closed="")
            what = f"group {output.grp}" if output.grp else "all items"
            self.tasks.note(task.id, "opened again", f"{what}: {item_name(output)} {why}")
        if task.state is TaskState.FINISHED:
            self.tasks.change(task.id, state=TaskState.RUNNING, outcome="", reason=f"{item_name(output)} {why}")

    def outputs_moved(self, outputs: Sequence[int], now: OutputState) -> None:
        """Let the items that outputs are follow them."""
        if now is OutputState.BROKEN:
            self._set_there(outputs, PROMISED, BROKEN)
            for each in self.items_of(outputs):
                if each.there == THERE:
                    self._lose(each)
        elif now is OutputState.PROMISED:
            self._set_there(outputs, BROKEN, PROMISED)
            self.promised(outputs)
        elif now is OutputState.WITHDRAWN:
            for each in self.items_of(outputs):
                self._withdraw(each)
        elif now is OutputState.STORED:
            self._fulfil(self.outputs_by_id(outputs))

    def _set_there(self, outputs: Sequence[int], was: int, now: int) -> None:
        sql = (
            "UPDATE item SET there = ? WHERE output IN (SELECT value FROM json_each(?)) AND output > 0 AND there = ? "
            "RETURNING task"
        )
        found = self.db.execute(sql, (now, ids(outputs), was)).fetchall()
        self.tasks.mark(task for (task,) in found)

    def items_of(self, outputs: Sequence[int]) -> list[Item]:
        """Return the items, of any task, that outputs have become."""
        sql = "SELECT task, id FROM item WHERE output IN (SELECT value FROM json_each(?)) AND output > 0"
        found = self.db.execute(sql, (ids(outputs),)).fetchall()
        return [self.pools.items(task, [number])[number] for task, number in found]

    def _lose(self, item: Item) -> None:
        """Let an item be promised again whose file was there, and is damaged before it was used.

        Without promises nobody waits for it: its pieces are taken back.
        """
        self.db.execute("UPDATE item SET there = ? WHERE id = ?", (BROKEN, item.id))
        self.tasks.mark([item.task])
        unsent = [each.p for each in self.holders(item.id) if each.state in UNSENT]
        if any(spec.promises for _, source in self._brought_by(item) if (spec := self._spec_of(source))):
            self.pools.move_items(item.task, [item.id] * (item.state is ItemState.AVAILABLE), ItemState.PROMISED)
            self.count_missing(item.task, unsent)
            return
        self.pieces.take_back(item.task, unsent)
        if self.pools.items(item.task, [item.id])[item.id].state in (ItemState.AVAILABLE, ItemState.PROMISED):
            self.pools.move_items(item.task, [item.id], ItemState.GONE, note=DAMAGED)

    def _brought_by(self, item: Item) -> list[tuple[Output, Source]]:
        """Return what brings an item, and the sources of its task by which it comes."""
        outputs = self.outputs_by_id([item.output])
        return [(each, source) for each in outputs for source in self._sources_of(each) if source.task == item.task]

    def _withdraw(self, item: Item) -> None:
        """Let an item be gone that nobody will bring; pieces that wait for it, or have failed with it, are taken back.

        None of them was ever sent: the item was never there.
        """
        holders = [each.p for each in self.holders(item.id)]
        self.pieces.take_back(item.task, holders)
        if holders:
            self._may_promise_anew(item)
        now = self.pools.items(item.task, [item.id])[item.id]
        if now.state is ItemState.PROMISED:
            self.pools.move_items(item.task, [item.id], ItemState.GONE, note="its promise was withdrawn")

    def _may_promise_anew(self, item: Item) -> None:
        """Open the group of an item whose piece was taken back before it was sent: the rest of that is planned anew."""
        for output, source in self._brought_by(item):
            by = self.pieces.one(output.task, output.p)
            if by and by.state in ANEW:
                self._open(source, output, "is withdrawn")

    def holders(self, item: int) -> list[PieceRow]:
        """Return the pieces that wait for an item, or have failed with it."""
        return list(map(read_piece, self.db.execute(HOLDERS, (item,)).fetchall()))

    def _fulfil(self, outputs: Iterable[Output]) -> None:
        """Let outputs be there for the tasks that they are for."""
        for output in outputs:
            items = self.items_of([output.id])
            for source in self._sources_of(output):
                if not any(each.task == source.task for each in items):
                    self._feed(source, [output], THERE)
            for item in items:
                self._is_there(item, output)

    def _is_there(self, item: Item, output: Output) -> None:
        """Let an item be there that was promised; pieces that wait for nothing else are ready."""
        if item.there == THERE:
            return
        facts = (output.bytes, self._record(output), item.id)
        self.db.execute("UPDATE item SET there = 1, size = ?, record = ? WHERE id = ?", facts)
        self.tasks.mark([item.task])
        if item.state is ItemState.PROMISED or (item.state is ItemState.GONE and item.note == DAMAGED):
            self.pools.move_items(item.task, [item.id], ItemState.AVAILABLE, note="")
            self.pools.make_dirty(item.task, item.grp)
        self.count_missing(item.task, [each.p for each in self.holders(item.id)])

    def count_missing(self, task: int, numbers: Sequence[int]) -> None:
        """Count again what is missing of pieces; those that lack nothing are ready, others wait.

        Those whose parts lie behind the ends of their files, which have less than was promised, do nothing.
        """
        self.db.execute(MISSING, (task, ids(numbers)))
        sql = (
            "SELECT p, missing FROM piece WHERE task = ? AND p IN (SELECT value FROM json_each(?)) "
            "AND state = CASE WHEN missing > 0 THEN 'ready' ELSE 'waiting' END"
        )
        states = {True: PieceState.WAITING, False: PieceState.READY}
        found = self.db.execute(sql, (task, ids(numbers))).fetchall()
        self.pieces.move(task, [Ended(p, states[missing > 0]) for p, missing in found])
        behind = [p for (p,) in self.db.execute(BEHIND, (task, ids(numbers))).fetchall()]
        self.pieces.move(task, [Ended(p, PieceState.TAKEN_BACK, "its file has fewer events") for p in behind])

    def planned(self, task: int, first: int, upto: int) -> None:
        """Let pieces wait of which something is only promised."""
        row = self.tasks.one(task)
        if row and any(each.promises for each in row.spec.sources):
            self.count_missing(task, range(first, upto))

    def pieces_moved(self, task: int, numbers: Sequence[int], now: PieceState) -> None:
        """Let what completed pieces have brought be there."""
        if now is PieceState.COMPLETED:
            those = [each for p in numbers for each in self.outputs.of_piece(task, p)]
            self._fulfil(each for each in those if each.state is OutputState.VERIFIED and each.todo is Todo.NOTHING)

    def made_ready(self, task: int, numbers: Sequence[int]) -> None:
        """Let pieces wait of which something is only promised."""
        self.count_missing(task, numbers)

    def taken_back(self, task: int, before: Sequence[PieceRow]) -> None:
        """Let what was only promised be so again. What had failed is planned anew, also at the end of a task."""
        now = self.tasks.one(task)
        if now and now.state is TaskState.FINISHED and any(each.state is PieceState.FAILED for each in before):
            self.tasks.change(task, state=TaskState.RUNNING, outcome="", reason="failed pieces are taken back")
        items = {part.item for each in before for part in self.pieces.parts_of(task, each.p)}
        those_now = self.pools.items(task, items).values()
        lacking = [each.id for each in those_now if each.there < THERE and each.state is ItemState.AVAILABLE]
        self.pools.move_items(task, lacking, ItemState.PROMISED)

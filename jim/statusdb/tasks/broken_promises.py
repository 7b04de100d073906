"""Promises between tasks that are broken, or whose places other promises take, in an SQLite store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jim.statusdb.connected import StorePart
from jim.statusdb.pieces import as_json
from jim.statusdb.task_rows import LIVE_PIECES, Item, ItemState, PieceState, Source, Unfulfilled
from jim.statusdb.tasks.chains import Chains
from jim.statusdb.tasks.pools import ids


class BrokenPromises(StorePart):
    """The part of a status DB about promises that are not fulfilled as they were made."""

    def __init__(self, chains: Chains) -> None:
        super().__init__(chains.connected)
        self.chains, self.pools, self.outputs, self.pieces = chains, chains.pools, chains.outputs, chains.pieces

    # What cannot be fulfilled

    def unfulfilled(self, source: Source, *, broken: bool, limit: int) -> list[Unfulfilled]:
        """Return pieces that wait for what a source has promised: what is broken, or all that is not there."""
        sql = (
            "SELECT p.p, i.name, q.reason FROM output o INDEXED BY output_open "
            "JOIN item i INDEXED BY item_of ON i.output = o.id AND i.output > 0 AND i.task = ? "
            "JOIN piece_item x ON x.item = i.id "
            "JOIN piece p ON p.task = x.task AND p.p = x.p JOIN task t ON t.id = p.task "
            "JOIN piece q ON q.task = o.task AND q.p = o.p WHERE o.task = ? AND o.stream = ? "
            "AND o.state IN ('promised', 'broken') AND (NOT ? OR o.state = 'broken') "
            "AND p.state = 'waiting' AND p.p < t.next_piece GROUP BY p.p ORDER BY p.p LIMIT ?"
        )
        values = (source.task, source.upstream, source.stream, broken, limit)
        return [Unfulfilled(*row) for row in self.db.execute(sql, values)]

    def unfulfilled_of_removed(self, task: int, limit: int) -> list[Unfulfilled]:
        """Return pieces that wait for what a task has promised that was removed since."""
        sql = (
            "SELECT p.p, i.name, '' FROM piece p INDEXED BY piece_waiting JOIN task t ON t.id = p.task "
            "JOIN piece_item x ON x.task = p.task AND x.p = p.p JOIN item i ON i.id = x.item "
            "WHERE p.task = ? AND p.state = 'waiting' AND p.p < t.next_piece AND i.output = -1 AND i.there < 1 "
            "GROUP BY p.p ORDER BY p.p LIMIT ?"
        )
        return [Unfulfilled(*row) for row in self.db.execute(sql, (task, limit))]

    def promised_items(self, task: int, upstream: int, limit: int) -> list[int]:
        """Return the items in no piece that a task has only promised, or one that was removed since."""
        sql = (
            "SELECT i.id FROM item i INDEXED BY item_promised LEFT JOIN output o ON o.id = i.output "
            "WHERE i.task = ? AND i.state = 'promised' AND (o.task = ? OR i.output = -1) LIMIT ?"
        )
        return [number for (number,) in self.db.execute(sql, (task, upstream, limit))]

    def any_unfulfilled(self, task: int, note: str) -> bool:
        """Tell whether promised items of a task were dropped with a note that begins so."""
        sql = "SELECT 1 FROM item WHERE task = ? AND state = 'dropped' AND there < 1 AND note GLOB ? LIMIT 1"
        return self.db.execute(sql, (task, f"{note}*")).fetchone() is not None

    def not_kept(self, items: Iterable[int]) -> set[int]:
        """Return those of some items whose files were in the work directory, and went with their grid jobs."""
        sql = (
            "SELECT i.id FROM json_each(?) e CROSS JOIN item i ON i.id = e.value JOIN output o ON o.id = i.output "
            "JOIN piece p ON p.task = o.task AND p.p = o.p JOIN wave w ON w.task = p.task AND w.w = p.wave AND w.t = 0 "
            "WHERE i.output > 0 AND i.there = 1 AND o.state = 'verified' AND o.todo = '' AND w.grid > 0 "
            "AND NOT EXISTS (SELECT 1 FROM grid_job g WHERE g.id = w.grid)"
        )
        return {number for (number,) in self.db.execute(sql, (ids(items),))}

    # Recovery

    def move_promises(self, task: int, successors: Mapping[int, Sequence[int]]) -> None:
        """Let promises of new pieces take the places of those of pieces that they replace, in the pieces that wait.

        Pieces that have only a part of what is replaced are taken back: the new files are cut anew. Of several outputs
        of a piece, each is replaced by those of its own number: all the new ones in each place would be done twice.
        """
        for old, new in successors.items():
            promised = [each for p in new for each in self.outputs.of_piece(task, p)]
            for output in self.outputs.of_piece(task, old):
                those = [each.id for each in promised if (each.stream, each.k) == (output.stream, output.k)]
                for item in self.chains.items_of([output.id]):
                    into = [each.id for each in self.chains.items_of(those) if each.task == item.task]
                    self._replace_item(item, into)

    def _replace_item(self, item: Item, into: Sequence[int]) -> None:
        """Let other items take the place of one, in the pieces that wait for it or have failed with it."""
        holders = self.chains.holders(item.id)
        # Which part of which new file the part of the old one is, nobody knows.
        masked = [each for each in holders if each.record.get("mask")]
        self.pieces.take_back(item.task, [each.p for each in masked])
        for piece in (each for each in holders if each not in masked):
            files = [each for number in piece.record["files"] for each in (into if number == item.id else [number])]
            if not files:  # its work is that of other pieces: a failed one would be tried again with no file
                self.pieces.take_back(item.task, [piece.p])
                continue
            self.db.execute(
                "DELETE FROM piece_item WHERE task = ? AND p = ? AND item = ?", (item.task, piece.p, item.id)
            )
            rows = ((item.task, piece.p, each) for each in into)
            self.db.executemany("INSERT INTO piece_item (task, p, item) VALUES (?, ?, ?)", rows)
            record = as_json({**piece.record, "files": files})
            self.db.execute("UPDATE piece SET record = ? WHERE task = ? AND p = ?", (record, item.task, piece.p))
            live, failed = int(piece.state in LIVE_PIECES), int(piece.state is PieceState.FAILED)
            count = "UPDATE item SET live = live + ?, failed = failed + ? WHERE id = ?"
            self.db.executemany(count, ((live, failed, each) for each in into))
            self.db.execute(count, (-live, -failed, item.id))
            self.pools.move_items(item.task, into, ItemState.ACQUIRED)
            self.pools.derive_items(item.task, into)
            self.chains.count_missing(item.task, [piece.p])
        names = ", ".join(each.name for each in self.pools.items(item.task, into).values())
        note = f"replaced by {names}" if names else "its promise was withdrawn"
        self.pools.move_items(item.task, [item.id], ItemState.GONE, note=note)

"""The reads of people about tasks: lists and counts, in bounded time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from jim.model import Kind
from jim.statusdb.connected import StorePart
from jim.statusdb.derived import minute_of
from jim.statusdb.list_filters import (
    GroupSeen,
    HostSeen,
    ItemsAsked,
    ItemSeen,
    Minute,
    OutputsAsked,
    PiecesAsked,
    PieceSeen,
    TaskFailures,
)
from jim.statusdb.pieces import piece_of
from jim.statusdb.seen.list_pages import Clauses, all_of, any_of, as_glob
from jim.statusdb.short_forms import unpacked
from jim.statusdb.task_rows import Output, TaskLine
from jim.statusdb.tasks.outputs import read_output

GRIDS = "SELECT grid FROM wave WHERE task = ? AND t = 0 AND grid > 0"
COUNTS = (
    "SELECT task, what, state, sum(count) FROM task_tally WHERE task IN (SELECT value FROM json_each(?)) "
    "GROUP BY 1, 2, 3"
)
COMPLETED = (
    "SELECT w.task, sum(p.count), min(p.at) FROM wave w JOIN pulse p ON p.grid = w.grid AND p.at >= ? "
    "AND p.what = 'completed' WHERE w.task IN (SELECT value FROM json_each(?)) AND w.t = 0 AND w.grid > 0 "
    "AND p.count > 0 GROUP BY 1"
)
_MINUTE = "strftime('%Y-%m-%dT%H:%M', at * 60, 'unixepoch')"
MINUTES = (
    f"SELECT {_MINUTE}, what, sum(count) FROM pulse WHERE grid IN ({GRIDS}) AND count > 0 "
    "GROUP BY at, what ORDER BY what = 'started', at, what"
)
HOSTS = (
    "SELECT host, sum(count), sum(CASE WHEN verdict IN ('', 'completed', 'killed') THEN 0 ELSE count END) AS bad, "
    "max(CASE WHEN verdict IN ('', 'completed', 'killed') THEN '' ELSE last END) FROM on_host "
    f"WHERE grid IN ({GRIDS}) GROUP BY host HAVING bad > 0 ORDER BY bad DESC, sum(count) DESC, host LIMIT ?"
)
REASONS = (
    "SELECT reason, kind, count(*), min(p) FROM (SELECT reason, kind, p FROM piece INDEXED BY piece_failed "
    "WHERE task = ? AND state = 'failed' LIMIT ?) GROUP BY reason, kind ORDER BY count(*) DESC, min(p)"
)
OF_GROUPS = (
    "SELECT t.grp, t.state, t.count FROM json_each(?3) e JOIN task_tally t ON t.task = ?1 AND t.what = ?2 "
    "AND t.grp = e.value AND t.count > 0"
)
RECORDS = (
    "SELECT a.record, l.piece, ifnull(s.asked, '') FROM attempt a JOIN local_job l ON l.grid = a.grid AND l.n = a.n "
    "LEFT JOIN submission s ON s.grid = a.grid AND s.k = a.k WHERE a.grid = ? AND a.verdict = 'completed' "
    "AND l.state = 'completed' AND a.record <> '' AND length(a.record) < 50000 LIMIT ?"
)
ITEM = "SELECT i.id, i.name, i.grp, i.state, i.size, i.since, i.note FROM item i WHERE i.task = ? AND "
FAILED_ITEMS = (  # by the index of failed pieces: there may be a million items
    "i.id IN (SELECT x.item FROM piece f INDEXED BY piece_failed JOIN piece_item x ON x.task = f.task AND x.p = f.p "
    "WHERE f.task = ? AND f.state = 'failed')"
)
RELEASED_BEFORE = (
    "SELECT w.w, w.grid, l.n FROM wave w JOIN local_job l ON l.grid = w.grid WHERE w.task = ? AND w.t = 0 "
    "AND w.grid > 0 AND w.ending = 'pause' AND l.state = 'failed_frozen' AND l.piece LIKE ? ORDER BY w.w"
)
PIECE = (
    "SELECT p.p, p.grp, p.state, p.wave, p.n, p.attempts, p.reason, p.ended, ifnull(w.grid, 0) FROM piece p "
    "LEFT JOIN wave w ON w.task = p.task AND w.t = 0 AND w.w = p.wave AND p.wave > 0 "
    "WHERE p.task = ?1 AND p.p < (SELECT next_piece FROM task WHERE id = ?1) AND "
)
WITH_INDEX = ("ready", "failed")  # states of pieces


class TasksSeen(StorePart):
    """The lists and counts of tasks that people browse."""

    def counts(self, tasks: Iterable[int]) -> dict[int, dict[str, dict[str, int]]]:
        """Count the items and pieces of tasks by state."""
        found: dict[int, dict[str, dict[str, int]]] = {}
        for task, what, state, count in self.db.execute(COUNTS, (json.dumps(list(tasks)),)):
            if count:
                found.setdefault(task, {}).setdefault(what, {})[state] = count
        return found

    def completed_since(self, tasks: Iterable[int], since: str) -> dict[int, tuple[int, int]]:
        """Count the local jobs of tasks that have completed since a time; also tell the first minute, since 1970."""
        found = self.db.execute(COMPLETED, (minute_of(since), json.dumps(list(tasks))))
        return {task: (count, first) for task, count, first in found}

    def minutes(self, task: int) -> list[Minute]:
        """Count by minute how local jobs of a task ended, and how many attempts started."""
        return [Minute._make(row) for row in self.db.execute(MINUTES, (task,))]

    def hosts(self, task: int, limit: int) -> list[HostSeen]:
        """Return the hosts with failed attempts of a task, those with the most first."""
        return [HostSeen._make(row) for row in self.db.execute(HOSTS, (task, limit))]

    def failures(self, task: int, limit: int) -> list[TaskFailures]:
        """Count the first failed pieces of a task by reason."""
        found = self.db.execute(REASONS, (task, limit))
        return [TaskFailures(reason, Kind(kind), times, first) for reason, kind, times, first in found]

    def records(self, task: int, limit: int) -> Iterator[tuple[str, int, str]]:
        """Yield exit records of completed local jobs of a task, with their events and with what was asked for.

        Those of the last waves come first.
        """
        grids = [grid for (grid,) in self.db.execute(f"{GRIDS} ORDER BY w DESC", (task,))]
        for grid in grids:
            for record, piece, resources in self.db.execute(RECORDS, (grid, limit)):
                yield unpacked(record), piece_of(piece).events or 0, resources
                limit -= 1
            if limit <= 0:
                return

    def bytes_stored(self, task: int) -> int:
        """Add up the sizes of stored outputs of a task."""
        sql = "SELECT ifnull(sum(bytes), 0) FROM output WHERE task = ? AND state = 'stored'"
        return int(self.db.execute(sql, (task,)).fetchone()[0])

    def inputs_since(self, task: int) -> tuple[int, int]:
        """Count the items of a task that were removed, and those that have changed, since they were worked on."""
        sql = (
            "SELECT ifnull(sum(note LIKE 'removed%'), 0), ifnull(sum(note LIKE 'stale%'), 0) FROM item "
            "WHERE task = ? AND note <> '' AND state IN ('acquired', 'completed', 'failed')"
        )
        removed, stale = self.db.execute(sql, (task,)).fetchone()
        return int(removed), int(stale)

    def outputs_page(self, task: int, asked: OutputsAsked, limit: int) -> list[Output]:
        """Return the next matching outputs, by piece."""
        which, values = all_of([*_outputs(asked), ("(p, stream, k) > (?, ?, ?)", asked.after)])
        sql = f"SELECT * FROM output WHERE task = ? AND {which} ORDER BY p, stream, k LIMIT ?"
        found = self.db.execute(sql, (task, *values, limit))
        return [read_output(row) for row in found]

    def lines(self, task: int, what: Sequence[str], last: int) -> list[TaskLine]:
        """Return the last lines of some kinds in a task's journal, oldest first."""
        which, values = all_of(any_of("what", tuple(what)))
        sql = f"SELECT seq, at, what, reason FROM task_journal WHERE task = ? AND {which} ORDER BY seq DESC LIMIT ?"
        return [TaskLine(*row) for row in self.db.execute(sql, (task, *values, last))][::-1]

    def groups_page(self, task: int, after: str | None, limit: int) -> list[GroupSeen]:
        """Return the next groups of a task by name: when each was closed, and its counts."""
        sql = "SELECT grp, closed FROM pool_group WHERE task = ? AND (? IS NULL OR grp > ?) ORDER BY grp LIMIT ?"
        closed = dict(self.db.execute(sql, (task, after, after, limit)))
        counts: dict[str, dict[str, dict[str, int]]] = {grp: {"items": {}, "pieces": {}} for grp in closed}
        named = json.dumps(list(closed))
        for what in ("items", "pieces"):
            for grp, state, count in self.db.execute(OF_GROUPS, (task, what, named)):
                counts[grp][what][state] = count
        return [GroupSeen(grp, closed[grp], **counts[grp]) for grp in closed]

    def count_groups(self, task: int) -> int:
        """Count the groups of a task."""
        return int(self.db.execute("SELECT count(*) FROM pool_group WHERE task = ?", (task,)).fetchone()[0])

    def items_page(self, task: int, asked: ItemsAsked, limit: int) -> list[ItemSeen]:
        """Return the next matching items, by name."""
        which, values = all_of([*_items(task, asked), ("i.name > ?", (asked.after,))])
        sql = f"{ITEM}{which} ORDER BY i.name LIMIT ?"
        return [ItemSeen(*row) for row in self.db.execute(sql, (task, *values, limit))]

    def count_items(self, task: int, asked: ItemsAsked, at_most: int) -> int:
        """Count matching items on all pages; stop at one more than `at_most`."""
        which, values = all_of(_items(task, asked))
        sql = f"SELECT count(*) FROM ({ITEM}{which} LIMIT ?)"
        return int(self.db.execute(sql, (task, *values, at_most + 1)).fetchone()[0])

    def pieces_page(self, task: int, asked: PiecesAsked, limit: int) -> list[PieceSeen]:
        """Return the next matching pieces, by number."""
        which, values = all_of([*_pieces(asked), ("p.p > ?", (asked.after,))])
        sql = f"{PIECE}{which} ORDER BY p.p LIMIT ?"
        return [PieceSeen(*row) for row in self.db.execute(sql, (task, *values, limit))]

    def count_pieces(self, task: int, asked: PiecesAsked, at_most: int) -> int:
        """Count matching pieces on all pages; stop at one more than `at_most`."""
        which, values = all_of(_pieces(asked))
        sql = f"SELECT count(*) FROM ({PIECE}{which} LIMIT ?)"
        return int(self.db.execute(sql, (task, *values, at_most + 1)).fetchone()[0])

    def released_before(self, task: int, p: int) -> list[tuple[int, int, int]]:
        """Return the waves that had a piece before a pause ended them, each with its grid job and local job there."""
        return list(self.db.execute(RELEASED_BEFORE, (task, f'%"Piece":"{p:07d}"%')))

    def tasks_of(self, grids: Iterable[int]) -> dict[int, str]:
        """Return the task of each grid job that is a wave or a test of one."""
        sql = (
            "SELECT w.grid, t.name FROM wave w JOIN task t ON t.id = w.task "
            "WHERE w.grid > 0 AND w.grid IN (SELECT value FROM json_each(?))"
        )
        return dict(self.db.execute(sql, (json.dumps(list(grids)),)))


def _outputs(asked: OutputsAsked) -> Clauses:
    return [*any_of("state", asked.states), *any_of("stream", asked.streams), *any_of("grp", asked.groups)]


def _items(task: int, asked: ItemsAsked) -> Clauses:
    clauses = [*any_of("i.state", asked.states), *any_of("i.grp", asked.groups), *_like("i.name", asked.names)]
    clauses += [(FAILED_ITEMS, (task,))] if asked.states == ("failed",) else []
    if asked.piece is not None:
        clauses.append(("i.id IN (SELECT item FROM piece_item WHERE task = ? AND p = ?)", (task, asked.piece)))
    return clauses


def _pieces(asked: PiecesAsked) -> Clauses:
    clauses = [*any_of("p.state", asked.states), *any_of("p.grp", asked.groups), *_like("p.reason", asked.reasons)]
    clauses += [*any_of("p.wave", asked.waves), ("p.wave > 0", ())] if asked.waves else []
    if len(asked.states) == 1 and asked.states[0] in WITH_INDEX:  # SQLite uses it only if it reads the condition
        clauses.append((f"p.state = '{asked.states[0]}'", ()))
    return clauses


def _like(column: str, patterns: tuple[str, ...]) -> Clauses:
    """Return the SQL for a column with one of these patterns; no patterns mean any."""
    sql = " OR ".join([f"{column} GLOB ?"] * len(patterns))
    return [(f"({sql})", tuple(map(as_glob, patterns)))] if patterns else []

"""Input pools in an SQLite store: sources, groups and items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jim.statusdb.connected import Connected, StorePart
from jim.statusdb.pieces import as_json
from jim.statusdb.task_rows import CHANGING, THROTTLE_TIMES, Group, Item, ItemState, KnownItem, NewItem, Source
from jim.statusdb.tasks.tasks import Tasks

ADD_ITEM = (
    "INSERT INTO item (task, name, grp, state, since, size, mtime, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT DO NOTHING"
)


def _item(row: Sequence[Any]) -> Item:
    values = list(row)
    values[4], values[12] = ItemState(values[4]), json.loads(values[12]) if values[12] else {}
    return Item(*values)


def ids(numbers: Iterable[int]) -> str:
    """Return numbers as SQLite takes them apart."""
    return json.dumps(list(numbers))


class Pools(StorePart):
    """The part of a status DB about what tasks work on."""

    def __init__(self, connected: Connected, tasks: Tasks) -> None:
        super().__init__(connected)
        self.tasks = tasks

    def make_due(self, jump: float) -> None:
        """Make everything of tasks due at once: of what a clock that is set back has in the future, it is now.

        Only items that wait for others go on waiting, as long as they would have without the jump.
        """
        now = self.clock.epoch()
        with self.transaction():
            self.db.execute("UPDATE output SET due = 0 WHERE todo <> '' AND due > 0")
            which = "item INDEXED BY item_available SET since = min(since + ?, ?) WHERE state = 'available'"
            self.db.execute(f"UPDATE {which} AND (? <> 0 OR since > ?)", (jump, now, jump, now))
            for task in self.tasks.all():
                times = {name: min(float(task.throttle.get(name, 0)), now) for name in THROTTLE_TIMES}
                if times != {name: float(task.throttle.get(name, 0)) for name in THROTTLE_TIMES}:
                    self.tasks.change(task.id, throttle={**task.throttle, **times})

    # Sources and groups

    def sources(self, task: int) -> list[Source]:
        """Return the sources of a task."""
        return [Source(*row) for row in self.db.execute("SELECT * FROM source WHERE task = ? ORDER BY k", (task,))]

    def set_source(self, task: int, k: int, **columns: Any) -> None:
        """Record what is known of a source. That it was looked at once more, people see with the next minute."""
        names = ", ".join(f"{name} = ?" for name in columns)
        with self.transaction():
            before = self.sources(task)
            self.db.execute(f"UPDATE source SET {names} WHERE task = ? AND k = ?", (*columns.values(), task, k))
            self.tasks.mark([task])
            after = self.sources(task)
            self.connected._shows_tasks_anew |= [each._replace(looked="") for each in before] != [
                each._replace(looked="") for each in after
            ]

    def are_looked_at(self, when: Mapping[tuple[int, int], str]) -> None:
        """Record when sources were looked at that have shown nothing new: nobody has to do anything about that."""
        with self.transaction():
            self.db.executemany(
                "UPDATE source SET looked = ? WHERE task = ? AND k = ?", [(at, *key) for key, at in when.items()]
            )

    def groups(self, task: int) -> list[Group]:
        """Return the groups of a task."""
        return [Group(*row) for row in self.db.execute("SELECT * FROM pool_group WHERE task = ? ORDER BY grp", (task,))]

    def group(self, task: int, grp: str) -> Group | None:
        """Return one group of a task; None: nothing of it was seen."""
        found = self.db.execute("SELECT * FROM pool_group WHERE task = ? AND grp = ?", (task, grp)).fetchone()
        return Group(*found) if found else None

    def set_group(self, task: int, grp: str, **columns: Any) -> None:
        """Record what is known of a group, which may be new."""
        names = ", ".join(f"{name} = ?" for name in columns)
        with self.transaction():
            self.db.execute("INSERT OR IGNORE INTO pool_group (task, grp) VALUES (?, ?)", (task, grp))
            self.db.execute(f"UPDATE pool_group SET {names} WHERE task = ? AND grp = ?", (*columns.values(), task, grp))

    def make_dirty(self, task: int, grp: str, *, flush: bool = False) -> None:
        """Let a group be planned; with `flush` as if nothing more would come."""
        with self.transaction():
            self.db.execute("INSERT OR IGNORE INTO pool_group (task, grp) VALUES (?, ?)", (task, grp))
            sql = "UPDATE pool_group SET dirty = dirty + 1, flush = max(flush, ?) WHERE task = ? AND grp = ?"
            self.db.execute(sql, (int(flush), task, grp))
            self.tasks.touch(task)

    def is_planned(self, group: Group) -> None:
        """Record that a group was planned as it was then; it is still dirty if something has changed since."""
        sql = "UPDATE pool_group SET dirty = 0, flush = 0 WHERE task = ? AND grp = ? AND dirty = ?"
        self.db.execute(sql, (group.task, group.grp, group.dirty))

    def dirty_groups(self, task: int) -> list[Group]:
        """Return the groups to plan, those that came first before others."""
        sql = "SELECT * FROM pool_group WHERE task = ? AND dirty > 0 ORDER BY grp"
        return [Group(*row) for row in self.db.execute(sql, (task,))]

    # Items

    def add_items(self, task: int, found: Iterable[NewItem], state: ItemState = ItemState.AVAILABLE) -> int:
        """Add items; a known name changes nothing. Return how many are new; their groups are to be planned."""
        now, new = self.clock.steady(), dict[str, int]()
        with self.transaction():
            for each in found:
                record = as_json(dict(each.record)) if each.record else ""
                row = (task, each.name, each.grp, state, now, each.size, each.mtime, record)
                if self.db.execute(ADD_ITEM, row).rowcount:
                    new[each.grp] = new.get(each.grp, 0) + 1
            for grp, count in new.items():
                self.tasks.recount(task, "items", [(grp, state, count)])
                if state == ItemState.AVAILABLE:
                    self.make_dirty(task, grp)
        return sum(new.values())

    def item_named(self, task: int, name: str) -> Item | None:
        """Return an item by its name."""
        return next(map(_item, self.db.execute("SELECT * FROM item WHERE task = ? AND name = ?", (task, name))), None)

    def items(self, task: int, numbers: Iterable[int]) -> dict[int, Item]:
        """Return items by their numbers."""
        sql = "SELECT i.* FROM json_each(?) e CROSS JOIN item i ON i.id = e.value WHERE i.task = ?"
        return {each.id: each for each in map(_item, self.db.execute(sql, (ids(numbers), task)))}

    def known_items(self, task: int) -> Iterator[KnownItem]:
        """Yield all items of a task, for comparison with a listing."""
        sql = (
            "SELECT id, name, grp, state, size, mtime, (note <> '') + (note LIKE 'removed%') + 2 * (note = ?2) "
            "FROM item WHERE task = ?1"
        )
        states = {each.value: each for each in ItemState}  # there may be very many
        for number, name, grp, state, size, mtime, noted in self.db.execute(sql, (task, CHANGING)):
            yield KnownItem(number, name, grp, states[state], size, mtime, noted)

    def find_items(self, task: int, glob: str, state: str, limit: int) -> list[Item]:
        """Return the items whose names match a pattern, in the order in which they came."""
        sql = "SELECT * FROM item WHERE task = ? AND name GLOB ? AND (? = '' OR state = ?) ORDER BY id LIMIT ?"
        return list(map(_item, self.db.execute(sql, (task, glob, state, state, limit))))

    def next_items(self, task: int, glob: str, state: str, after: int, limit: int) -> list[Item]:
        """Return the items after one of a number: a part of a list that may have a million, with no sort of all."""
        sql = (
            "SELECT * FROM item NOT INDEXED "
            "WHERE id > ? AND task = ? AND name GLOB ? AND (? = '' OR state = ?) ORDER BY id LIMIT ?"
        )
        return list(map(_item, self.db.execute(sql, (after, task, glob, state, state, limit))))

    def available(self, task: int, grp: str, limit: int) -> list[Item]:
        """Return the first items of a group that are in no piece: those that are there, and those that are promised."""
        found: list[Item] = []
        for state in ("available", "promised"):  # each has an index of its own
            sql = (
                f"SELECT * FROM item INDEXED BY item_{state} WHERE task = ? AND grp = ? AND state = '{state}' "
                "ORDER BY id LIMIT ?"
            )
            found += map(_item, self.db.execute(sql, (task, grp, limit)))
        return sorted(found, key=lambda each: each.id)[:limit]

    def late_items(self, task: int, grp: str) -> list[int]:
        """Return the items of a group that came after it was closed."""
        sql = "SELECT id FROM item WHERE task = ? AND grp = ? AND state = 'late' ORDER BY id"
        return [number for (number,) in self.db.execute(sql, (task, grp))]

    def oldest_available(self, task: int) -> list[tuple[str, float]]:
        """Return each group with available items, and when the oldest of them came."""
        sql = (  # of the first ones, for there may be a million; one that was changed came anew, so others may be older
            "SELECT g.grp, (SELECT min(since) FROM (SELECT since FROM item INDEXED BY item_available "
            "WHERE task = g.task AND grp = g.grp AND state = 'available' ORDER BY id LIMIT 1000)) FROM task_tally g "
            "WHERE g.task = ? AND g.what = 'items' AND g.state = 'available' AND g.count > 0 ORDER BY g.grp"
        )
        return list(self.db.execute(sql, (task,)))

    def move_items(self, task: int, numbers: Iterable[int], now: ItemState, **columns: Any) -> None:
        """Give items another state."""
        those = ids(numbers)
        with self.transaction():
            sql = "SELECT grp, state, count(*) FROM item WHERE id IN (SELECT value FROM json_each(?)) GROUP BY 1, 2"
            self.tasks.moved(task, "items", self.db.execute(sql, (those,)).fetchall(), now)
            names = ", ".join(f"{name} = ?" for name in ("state", *columns))
            sql = f"UPDATE item SET {names} WHERE id IN (SELECT value FROM json_each(?))"
            self.db.execute(sql, (now, *columns.values(), those))

    def set_items(self, numbers: Iterable[int], **columns: Any) -> None:
        """Change facts of items that are not their states."""
        names = ", ".join(f"{name} = ?" for name in columns)
        sql = f"UPDATE item SET {names} WHERE id IN (SELECT value FROM json_each(?))"
        self.db.execute(sql, (*columns.values(), ids(numbers)))

    def item_is_back(self, task: int, number: int, size: int, mtime: str, record: Mapping[str, Any]) -> None:
        """Let an item that was gone be available again, as it is now."""
        facts = {"size": size, "mtime": mtime, "record": as_json(dict(record)) if record else "", "note": ""}
        with self.transaction():
            self.move_items(task, [number], ItemState.AVAILABLE, since=self.clock.steady(), **facts)
            grp = self.db.execute("SELECT grp FROM item WHERE id = ?", (number,)).fetchone()[0]
            self.make_dirty(task, grp)

    def derive_items(self, task: int, numbers: Sequence[int]) -> None:
        """Let the states of items follow from those of their pieces; a range that is not wholly cut stays available."""
        sql = (
            "SELECT id, CASE WHEN live > 0 THEN 'acquired' WHEN failed > 0 THEN 'failed' ELSE 'completed' END AS now "
            "FROM item WHERE id IN (SELECT value FROM json_each(?)) AND state IN ('acquired', 'completed', 'failed') "
            "AND now <> state"
        )
        by_state: dict[str, list[int]] = {}
        for number, now in self.db.execute(sql, (ids(numbers),)):
            by_state.setdefault(now, []).append(number)
        for now, those in by_state.items():
            self.move_items(task, those, ItemState(now))

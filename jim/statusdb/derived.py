"""What the store keeps in addition, so that lists, maps and pictures take no look at every local job.

A derived table follows from other rows (derived_sql.py), and changes in the transaction that changes those rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import Any

from jim.jobs import Key
from jim.model import State
from jim.statusdb import rows
from jim.statusdb.connected import StorePart
from jim.statusdb.derived_sql import BLOCK, CODES, DERIVED, ON_HOST, PULSES, STARTED, Table, made_anew, of_one

DAY_MINUTES = 24 * 60
FINE_MINUTES, KEPT_MINUTES = 2 * DAY_MINUTES, 400 * DAY_MINUTES  # of the site's pulse
COUNT_PULSE = "INSERT INTO pulse VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET count = count + excluded.count"
COUNT_ON_HOST = (
    "INSERT INTO on_host VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET count = count + excluded.count, last = max(last, excluded.last)"
)
FORGET_REMOVED = "DELETE FROM removed WHERE gone = 1 AND ifnull(CAST(strftime('%s', at) AS INTEGER) / 60, 0) < ?"
BEFORE = (
    "SELECT a.grid, a.k, a.idx, a.host, a.verdict, a.started FROM json_each(?) e "
    "CROSS JOIN attempt a ON a.grid = json_extract(e.value, '$[0]') AND a.k = json_extract(e.value, '$[1]') "
    "AND a.idx = json_extract(e.value, '$[2]')"
)
THIN = """
    INSERT INTO pulse SELECT 0, at / 60 * 60, what, sum(count) FROM pulse
        WHERE grid = 0 AND at < ?1 AND at % 60 > 0 GROUP BY at / 60, what
        ON CONFLICT DO UPDATE SET count = count + excluded.count
"""


class Derived(StorePart):
    """The derived tables of a status DB, which follow each change."""

    def follow(self, grid: int, numbers: Sequence[int], was: State, now: State, at: str) -> None:
        """Follow local jobs from one state to another."""
        self.db.execute(rows.COUNT, (grid, was.value, now.value, len(numbers)))
        self._color(grid, numbers, now)
        if now.value in PULSES:
            self._count_pulse(Counter({(grid, minute_of(at), now.value): len(numbers)}))

    def _color(self, grid: int, numbers: Sequence[int], now: State) -> None:
        code = CODES[now.value]
        for block, those in groupby(sorted(numbers), key=lambda n: n // BLOCK):
            found = self.db.execute("SELECT states FROM cells WHERE grid = ? AND block = ?", (grid, block)).fetchone()
            if found:  # else the split has not ended
                states = bytearray(found[0])
                for n in those:
                    states[n % BLOCK] = code
                self.db.execute("UPDATE cells SET states = ? WHERE grid = ? AND block = ?", (states, grid, block))

    def count_split(self, grid: int, size: int) -> None:
        """Count the local jobs of a grid job whose split has ended."""
        for name in ("tally", "cells"):
            self.db.execute(f"DELETE FROM {name} WHERE grid = ?", (grid,))
        self.db.execute(f"INSERT INTO tally {of_one('tally')}", (grid,))
        states = self.db.execute("SELECT state FROM tally WHERE grid = ?", (grid,)).fetchall()
        if states == [(State.WAITING.value,)]:  # as almost always: nothing needs to be read
            whole = bytes([CODES[State.WAITING.value]]) * size
            blocks = [(grid, block, whole[block * BLOCK :][:BLOCK]) for block in range(-(-size // BLOCK))]
            self.db.executemany("INSERT INTO cells VALUES (?, ?, ?)", blocks)
        else:
            self.db.execute(f"INSERT INTO cells {of_one('cells')}", (grid,))

    def _count_pulse(self, counted: Mapping[tuple[int, int | None, str], int]) -> None:
        """Count what happened, for the grid job and for the site (grid job 0)."""
        counts = [(each, minute, what, times) for (grid, minute, what), times in counted.items() for each in (grid, 0)]
        self.db.executemany(COUNT_PULSE, [each for each in counts if each[1] is not None and each[3]])

    def attempts_before(self, changes: Mapping[Key, Mapping[str, Any]]) -> dict[Key, tuple[str, str, str]]:
        """Return host, verdict and start of attempts in which one of these is about to change."""
        keys = [
            key for key, columns in changes.items() if not columns.keys().isdisjoint(("host", "verdict", "started"))
        ]
        found = self.db.execute(BEFORE, rows.keys(keys)) if keys else ()
        return {(grid, k, idx): facts for grid, k, idx, *facts in found}

    def follow_attempts(
        self, before: Mapping[Key, Sequence[str]], after: Mapping[Key, Mapping[str, Any]], now: str
    ) -> None:
        """Follow attempts in which something has changed."""
        pulse, hosts = Counter[tuple[int, int | None, str]](), Counter[tuple[int, str, str]]()
        anew = set()
        for key, (host, verdict, started) in before.items():
            columns = after[key]
            new = columns.get("host", host), columns.get("verdict", verdict)
            pulse[key[0], minute_of(started), STARTED] -= 1
            pulse[key[0], minute_of(columns.get("started", started)), STARTED] += 1
            hosts[key[0], host, verdict] -= 1
            hosts[key[0], *new] += 1
            if host and verdict:  # the time of the last one may be that of another one now
                anew |= {(key[0], host), (key[0], new[0])}
        ended = [(*key, now) for key, (_, verdict, _) in before.items() if not verdict and after[key].get("verdict")]
        self.db.executemany("INSERT INTO unaccounted (grid, k, idx, at) VALUES (?, ?, ?, ?)", ended)
        self._count_pulse(pulse)
        self.db.executemany(
            COUNT_ON_HOST,
            [(*each, times, now if each[2] and times > 0 else "") for each, times in hosts.items() if each[1]],
        )
        self.db.executemany(
            "DELETE FROM on_host WHERE grid = ? AND host = ? AND verdict = ? AND count = 0",
            [each for each, times in hosts.items() if times < 0],
        )
        for grid, host in anew:
            self.db.execute("DELETE FROM on_host WHERE grid = ? AND host = ?", (grid, host))
            self.db.execute(f"INSERT INTO on_host {ON_HOST.format(which=' AND grid = ? AND host = ?')}", (grid, host))

    def thin(self) -> None:
        """Keep the site's pulse by the hour where it is older than two days; forget what is older than 400 days."""
        now = minute_of(self.clock.utc()) or 0
        hour = (now - FINE_MINUTES) // 60 * 60
        with self.transaction():
            self.db.execute(THIN, (hour,))
            self.db.execute("DELETE FROM pulse WHERE grid = 0 AND at < ? AND at % 60 > 0", (hour,))
            self.db.execute("DELETE FROM pulse WHERE grid = 0 AND at < ?", (now - KEPT_MINUTES,))
            self.db.execute(FORGET_REMOVED, (now - KEPT_MINUTES,))

    # Checks

    def wrong(self) -> dict[str, int]:
        """Recompute the derived tables and count the rows that differ, by table."""
        with self.connected.snapshot():
            return {name: self._wrong(name, each) for name, each in DERIVED.items()}

    def _wrong(self, name: str, table: Table) -> int:
        self.db.execute(f"CREATE TEMP TABLE made AS SELECT * FROM ({table.made})")
        kept, made = f"SELECT {table.columns} FROM {name} WHERE {table.compared}", "SELECT * FROM made"
        both = (kept, made), (made, kept)
        differing = [f"SELECT count(*) FROM ({one} EXCEPT {other})" for one, other in both]
        found = max(int(self.db.execute(sql).fetchone()[0]) for sql in differing)
        self.db.execute("DROP TABLE made")
        return found

    def make_anew(self) -> None:
        """Make the derived tables anew."""
        with self.transaction():
            for statement in filter(str.strip, made_anew().split(";")):
                self.db.execute(statement)


@lru_cache(1024)
def minute_of(at: str) -> int | None:
    """Return a time of the store in minutes since 1970; None if there is none."""
    try:
        return int(datetime.fromisoformat(at).timestamp()) // 60
    except ValueError:
        return None

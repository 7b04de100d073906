"""What is derived from other rows, and the SQL that makes each derived table anew, for a check and for a repair."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from jim.model import State
from jim.statusdb.published import PHASE, phase_of
from jim.statusdb.short_forms import code

BLOCK = 4000  # local jobs in one row of cells, which fits on a page of the database
# The codes belong to the format: states are only added at the end.
CODED = (
    *(State.WAITING, State.SUBMITTING, State.SUBMITTED, State.RUNNING, State.COMPLETING, State.COMPLETED),
    *(State.FAILED, State.KILLED, State.HELD, State.SUSPENDED, State.NEW, State.COMPLETED_FROZEN, State.FAILED_FROZEN),
)
CODES = {state.value: code for code, state in enumerate(CODED, 1)}
PULSES = (State.COMPLETED.value, State.FAILED.value, State.KILLED.value)
STARTED = "started"
_MINUTE = "CAST(strftime('%s', {at}) AS INTEGER) / 60"
_AT = f"CASE WHEN at GLOB '*-*' THEN {_MINUTE.format(at='at')} ELSE CAST(at AS INTEGER) / 60000 END"
_WHAT = "CASE " + " ".join(f"WHEN now IN ('{each}', '{code(each)}') THEN '{each}'" for each in PULSES) + " END"
_PULSE = (
    f"SELECT grid, {_AT} AS minute, {_WHAT} AS what, count(*) FROM journal WHERE n IS NOT NULL AND was <> '' "
    "AND what IS NOT NULL AND minute IS NOT NULL GROUP BY grid, minute, what UNION ALL "
    f"SELECT grid, {_MINUTE.format(at='started')} AS minute, '{STARTED}', count(*) FROM attempt "
    "WHERE started <> '' AND minute IS NOT NULL GROUP BY grid, minute"
)
ON_HOST = (
    "SELECT grid, host, verdict, count(*), max(CASE WHEN verdict = '' THEN '' ELSE updated END) FROM attempt "
    "WHERE host <> ''{which} GROUP BY grid, host, verdict"
)
_PHASE = (
    "SELECT grid, name AS key, n, phase_part(content, 'name'), phase_part(content, 'unit'), "
    "phase_part(content, 'done'), phase_part(content, 'total'), attempt, updated FROM detail "
    f"WHERE substr(content, 1, {len(PHASE)}) = '{PHASE}' AND phase_part(content, 'total') IS NOT NULL"
)
_ALL = "grid IN (SELECT id FROM grid_job WHERE size > 0)"
_SPLIT = f"FROM local_job WHERE {_ALL} GROUP BY grid"


class Table(NamedTuple):
    """A derived table: its columns, and how it follows from other rows."""

    columns: str
    made: str
    compared: str = ""  # which rows are compared; others may outlive the rows that they were derived from


DERIVED = {
    "tally": Table("grid, state, count", f"SELECT grid, state, count(*) {_SPLIT}, state", "count > 0"),
    "cells": Table(
        "grid, block, states", f"SELECT grid, n / {BLOCK} AS block, cells(n % {BLOCK}, state) {_SPLIT}, block", "true"
    ),
    "pulse": Table("grid, at, what, count", _PULSE, "grid > 0 AND count > 0"),
    "phase": Table("grid, key, n, name, unit, done, total, attempt, updated", _PHASE, "true"),
    "on_host": Table("grid, host, verdict, count, last", ON_HOST.format(which=""), "true"),
}


class Cells:
    """SQL's `cells(place, state)`: the states of a block, a byte for each local job."""

    def __init__(self) -> None:
        self.states = bytearray()

    def step(self, place: int, state: str) -> None:
        """Take in one local job."""
        self.states.extend(bytes(max(0, place + 1 - len(self.states))))
        self.states[place] = CODES[state]

    def finalize(self) -> bytes:
        """Return the block."""
        return bytes(self.states)


def _phase_part(content: str, part: str) -> str | int | None:
    """Return a part of a phase, for SQL."""
    phase = phase_of(content)
    return getattr(phase, part) if phase else None


def let_make(db: sqlite3.Connection) -> None:
    """Let SQL of this connection make derived tables."""
    db.create_function("phase_part", 2, _phase_part, deterministic=True)
    db.create_aggregate("cells", 2, Cells)  # type: ignore[arg-type]


def made_anew() -> str:
    """Return the SQL that makes the derived tables anew."""
    return "".join(
        f"DELETE FROM {name} WHERE {each.compared}; INSERT OR REPLACE INTO {name} {each.made};"
        for name, each in DERIVED.items()
    )


def of_one(name: str) -> str:
    """Return the SQL for the rows of one grid job."""
    return DERIVED[name].made.replace(_ALL, "grid = ?")

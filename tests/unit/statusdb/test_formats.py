"""The formats of a store. tests/upgrade upgrades captured stores of all of them."""

from __future__ import annotations

import sqlite3

from jim.statusdb import formats
from tests.support.formats import TO_FORMAT_13


def tables(db: sqlite3.Connection) -> dict[str, list[str]]:
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: sorted(row[1] for row in db.execute(f"PRAGMA table_info({name})")) for name in names}


def test_todays_format_is_the_last_upgrade():
    assert len(formats.UPGRADES) + 1 == formats.VERSION
    assert formats.schema(formats.VERSION) == ""


def test_what_readers_must_know_of_is_no_newer_than_todays_format():
    needed = [number for name, number in vars(formats).items() if name.startswith("WITH_")]
    assert needed == sorted(needed)
    assert needed[-1] <= formats.VERSION


def test_the_last_upgrade_makes_what_the_schema_has():
    made, upgraded = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    made.executescript(formats.schema(0))
    whole = tables(made)
    upgraded.executescript(formats.schema(0))
    upgraded.executescript(TO_FORMAT_13)
    assert tables(upgraded) != whole
    upgraded.executescript(formats.UPGRADES[-1])
    assert tables(upgraded) == whole

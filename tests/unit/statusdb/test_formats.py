"""The formats of a store, and how one becomes the next."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from jim.clock import Clock
from jim.errors import JimError
from jim.statusdb import connected, formats
from jim.statusdb.store import Store


@pytest.fixture
def upgraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of today, of which a JIM with one more format opens the file."""
    file = tmp_path / "status.db"
    Store(file, Clock(), write=True).close()
    later = "CREATE TABLE later (what TEXT); INSERT INTO later VALUES ('done');"
    monkeypatch.setattr(formats, "UPGRADES", (*formats.UPGRADES, later))
    monkeypatch.setattr(connected, "VERSION", formats.VERSION + 1)
    return file


def test_the_last_upgrade_leads_to_the_format_of_today() -> None:
    assert formats.FIRST + len(formats.UPGRADES) == formats.VERSION
    assert formats.schema(formats.VERSION) == ""


def test_a_keeper_upgrades_an_older_format_once(upgraded: Path) -> None:
    for _ in range(2):
        with closing(Store(upgraded, Clock(), write=True)) as store:
            assert store.db.execute("SELECT what FROM later").fetchall() == [("done",)]
    with closing(sqlite3.connect(upgraded)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (formats.VERSION + 1,)


def test_who_only_reads_waits_for_a_keeper_to_upgrade_it(upgraded: Path) -> None:
    with pytest.raises(
        JimError, match=f"format {formats.VERSION} of an older JIM: the next keeper of this JIM upgrades"
    ):
        Store(upgraded, Clock())


def test_a_store_of_the_first_format_becomes_one_of_today(tmp_path: Path) -> None:
    """What is there has no carriers; what is made anew has the same columns, in the same order."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    Store(new, Clock(), write=True).close()
    with closing(sqlite3.connect(old)) as db:
        db.executescript(formats.schema(0))
        db.execute("DROP INDEX submission_with_carriers")
        for table, column in (("submission", "carriers"), ("attempt", "carrier")):
            db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        db.execute(f"PRAGMA user_version = {formats.FIRST}")
    Store(old, Clock(), write=True).close()
    told = []
    for file in (old, new):
        with closing(sqlite3.connect(file)) as db:
            names = {each[0] for each in db.execute("SELECT name FROM sqlite_master")}
            told.append((names, {name: [*db.execute(f"PRAGMA table_info({name})")] for name in names}))
    assert told[0] == told[1]

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
    monkeypatch.setattr(formats, "UPGRADES", ("CREATE TABLE later (what TEXT); INSERT INTO later VALUES ('done');",))
    monkeypatch.setattr(connected, "VERSION", formats.FIRST + 1)
    return file


def test_the_last_upgrade_leads_to_the_format_of_today() -> None:
    assert formats.FIRST + len(formats.UPGRADES) == formats.VERSION
    assert formats.schema(formats.VERSION) == ""


def test_a_keeper_upgrades_an_older_format_once(upgraded: Path) -> None:
    for _ in range(2):
        with closing(Store(upgraded, Clock(), write=True)) as store:
            assert store.db.execute("SELECT what FROM later").fetchall() == [("done",)]
    with closing(sqlite3.connect(upgraded)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (formats.FIRST + 1,)


def test_who_only_reads_waits_for_a_keeper_to_upgrade_it(upgraded: Path) -> None:
    with pytest.raises(JimError, match=f"format {formats.FIRST} of an older JIM: the next keeper of this JIM upgrades"):
        Store(upgraded, Clock())

"""SQLite's errors, as errors of JIM."""

from __future__ import annotations

import gc
import sqlite3
import weakref
from contextlib import closing

import pytest

from jim.database import opened, translated
from jim.errors import Away, Busy, Damaged, DiskFull, StoreError

# What SQLite says becomes what JIM does


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_BUSY, Busy),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, Busy),
        (sqlite3.SQLITE_LOCKED, Busy),
        (sqlite3.SQLITE_FULL, DiskFull),
        (sqlite3.SQLITE_CORRUPT, Damaged),
        (sqlite3.SQLITE_NOTADB, Damaged),
        (sqlite3.SQLITE_IOERR_FSYNC, Away),
        (sqlite3.SQLITE_CANTOPEN, Away),
        (sqlite3.SQLITE_READONLY_DBMOVED, Away),
        (sqlite3.SQLITE_ERROR, StoreError),
    ],
)
def test_each_error_of_sqlite_becomes_one_of_jim_s(tmp_path, code, kind):
    error = sqlite3.OperationalError("its words")
    error.sqlite_errorcode = code
    found = translated(tmp_path / "status.db", error)
    assert type(found) is kind
    assert isinstance(found, StoreError)
    assert (found.exit_code, "its words" in str(found), "status.db" in str(found)) == (1, True, True)


# What a connection keeps


def test_a_connection_keeps_nothing_of_its_ended_statements(tmp_path):
    """A keeper runs millions of statements in a year, and Python looks through all that is kept."""
    db, _ = opened(tmp_path / "status.db", write=True)
    with closing(db):
        db.execute("CREATE TABLE one (a)")
        before = references()
        for n in range(2000):
            db.execute("INSERT INTO one VALUES (?)", (n,))
            db.executemany("DELETE FROM one WHERE a = ?", [(n,)])
        assert references() - before < 500  # SQLite's module looks for ended cursors at every 200th


def references() -> int:
    return sum(isinstance(each, weakref.ref) for each in gc.get_objects())

"""SQLite's errors, as errors of JIM."""

from __future__ import annotations

import sqlite3

import pytest

from jim.database import translated
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

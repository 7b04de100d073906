"""What JIM's two databases share: a transaction happens as a whole, or not at all."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from jim.errors import JimError


def opened(file: Path, *, write: bool) -> tuple[sqlite3.Connection, int]:
    """Open a database, and tell of which format it is."""
    _refuse_special(file)
    place = f"file:{quote(str(file))}?mode={'rwc' if write else _to_read(file)}"
    try:
        db = sqlite3.connect(place, uri=True, isolation_level=None, timeout=10)
        db.execute("PRAGMA cache_size = -32000")
        return db, db.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise damaged(file, error) from error


def _refuse_special(file: Path) -> None:
    """Refuse what would never be opened, as a pipe, in place of the database or of a file that SQLite puts beside it.

    Who looks after other accounts must not hang in what one of them has put there.
    """
    for name in ("", "-wal", "-shm", "-journal"):
        beside = file.with_name(f"{file.name}{name}")
        if beside.exists() and not beside.is_file():
            raise JimError(f"{beside} is no regular file: put it aside")


def _to_read(file: Path) -> str:
    """Readers share a file beside it. Where the disk can only be read, none can be made: and nobody writes there."""
    alone = not file.with_name(f"{file.name}-wal").exists()
    return "ro&immutable=1" if alone and os.statvfs(file).f_flag & os.ST_RDONLY else "ro"


def damaged(file: Path, error: sqlite3.DatabaseError) -> Exception:
    """Say what to do about a database that is none; of a lock or a full disk, SQLite's own error says enough."""
    if type(error) is not sqlite3.DatabaseError:
        return error
    todo = "end its keeper, and put the whole state directory aside (docs/operating.md, Troubleshooting)"
    return JimError(f"{file} is damaged ({error}): {todo}")


@contextmanager
def transaction(db: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """All of it or nothing, durable when it is left; inside a larger one it is a part of that."""
    if db.in_transaction:
        yield
        return
    db.execute(f"BEGIN {kind}")
    try:
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


@contextmanager
def part(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing, inside a larger transaction that goes on without it."""
    db.execute("SAVEPOINT part")
    whole = False
    try:
        yield
        whole = True
    finally:
        if db.in_transaction:  # else SQLite itself has undone all, as it does when the disk is full
            if not whole:
                db.execute("ROLLBACK TO part")
            db.execute("RELEASE part")

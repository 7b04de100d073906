"""What JIM's databases share: a transaction happens as a whole, or not at all; and SQLite's errors become JIM's.

Nobody else needs to know what SQLite raises: the status DB has a connection that translates it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jim.errors import Away, Busy, Damaged, DiskFull, JimError, NotStorable, StoreError, TooLong

AT_ONCE = 1_000  # rows
GOES_ON = "A keeper that is running tries again by itself."
# By SQLite's primary result codes.
KINDS: dict[int, type[StoreError]] = {
    sqlite3.SQLITE_BUSY: Busy,
    sqlite3.SQLITE_LOCKED: Busy,
    sqlite3.SQLITE_PROTOCOL: Busy,
    sqlite3.SQLITE_FULL: DiskFull,
    sqlite3.SQLITE_CORRUPT: Damaged,
    sqlite3.SQLITE_NOTADB: Damaged,
    sqlite3.SQLITE_IOERR: Away,
    sqlite3.SQLITE_CANTOPEN: Away,
    sqlite3.SQLITE_READONLY: Away,
    sqlite3.SQLITE_PERM: Away,
    sqlite3.SQLITE_INTERRUPT: TooLong,
}
WORDS: dict[type[StoreError], str] = {
    Busy: f"{{file}} is locked by another program ({{said}}). {GOES_ON} If that lasts, end what `fuser {{file}}` names",
    DiskFull: f"{{file}} cannot grow, for its disk is full ({{said}}). {GOES_ON} Free space, or raise the quota",
    Away: f"{{file}} cannot be read or written ({{said}}). {GOES_ON} See that its disk is there and lets us write",
    Damaged: "{file} is damaged ({said}): end its keeper, and put the whole state directory aside "
    "(docs/operating.md, Troubleshooting)",
    NotStorable: "{file} cannot hold a value that was handed in ({said})",
    TooLong: "{file}: {said}",
    StoreError: "{file}: {said}; `jim site check` tells whether it is damaged",
}


class Cursor(sqlite3.Cursor):
    """Rows, which may be very many."""

    connection: Connection

    def execute(self, sql: str, values: Any = (), /) -> Cursor:
        """Run a statement."""
        try:
            return super().execute(sql, values)
        except (sqlite3.Error, OverflowError) as error:
            raise translated(self.connection.file, error) from error

    def executemany(self, sql: str, values: Iterable[Any], /) -> Cursor:
        """Run a statement for each of several values."""
        try:
            return super().executemany(sql, values)
        except (sqlite3.Error, OverflowError) as error:
            raise translated(self.connection.file, error) from error

    def fetchone(self) -> Any:
        """Give the next row, or None."""
        try:
            return super().fetchone()
        except sqlite3.Error as error:
            raise translated(self.connection.file, error) from error

    def fetchall(self) -> list[Any]:
        """Give all rows."""
        try:
            return super().fetchall()
        except sqlite3.Error as error:
            raise translated(self.connection.file, error) from error

    def fetchmany(self, size: int | None = AT_ONCE) -> list[Any]:
        """Give the next rows."""
        try:
            return super().fetchmany(size)
        except sqlite3.Error as error:
            raise translated(self.connection.file, error) from error

    def __iter__(self) -> Any:
        while rows := self.fetchmany():
            yield from rows


class Connection(sqlite3.Connection):
    """A connection to the status DB: what goes wrong is a `StoreError`."""

    file: Path

    def cursor(self, factory: Any = None) -> Any:
        """Give a cursor that translates, whatever was asked for."""
        return super().cursor(Cursor)

    def execute(self, sql: str, values: Any = (), /) -> Cursor:
        """Run a statement."""
        found: Cursor = self.cursor().execute(sql, values)
        return found

    def executemany(self, sql: str, values: Iterable[Any], /) -> Cursor:
        """Run a statement for each of several values."""
        found: Cursor = self.cursor().executemany(sql, values)
        return found

    def executescript(self, sql: str, /) -> Cursor:
        """Run several statements."""
        try:
            found: Cursor = super().executescript(sql)  # type: ignore[assignment]
        except sqlite3.Error as error:
            raise translated(self.file, error) from error
        return found


def translated(file: Path, error: Exception) -> StoreError:
    """Say what SQLite means, what JIM does next, and what there is to do."""
    if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError | sqlite3.InterfaceError | OverflowError):
        return store_error(NotStorable, file, error)
    code = getattr(error, "sqlite_errorcode", None)
    other = Damaged if type(error) is sqlite3.DatabaseError else StoreError
    return store_error(other if code is None else KINDS.get(code & 0xFF, other), file, error)


def store_error(kind: type[StoreError], file: Path, said: object) -> StoreError:
    """Give an error of a kind, with the words for it."""
    return kind(WORDS[kind].format(file=file, said=said))


def opened(file: Path, *, write: bool) -> tuple[Connection, int]:
    """Open the status DB, and tell of which format it is."""
    _refuse_special(file)
    place = f"file:{quote(str(file))}?mode={'rwc' if write else _to_read(file)}"
    try:
        db = sqlite3.connect(place, uri=True, isolation_level=None, timeout=10, factory=Connection)
    except sqlite3.Error as error:
        raise translated(file, error) from error
    db.file = file
    db.execute("PRAGMA cache_size = -32000")
    return db, db.execute("PRAGMA user_version").fetchone()[0]


class NoAnswer(JimError):
    """Somebody's database that does not answer, in SQLite's words."""


def first_column(file: Path, query: str, value: object) -> list[Any]:
    """Give the first column of what a query finds in somebody's database, which is only read."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return [row[0] for row in db.execute(query, (value,))]
    except sqlite3.Error as error:
        raise NoAnswer(str(error)) from error


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

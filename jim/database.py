"""Common parts of JIM's databases: transactions, and the translation of SQLite's errors into JIM's.

No other module knows SQLite's exceptions: the connection to the status DB translates them.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jim.errors import Away, Busy, Damaged, DiskFull, JimError, LogLost, NotStorable, StoreError, TooLong
from jim.files import apart, beside, set_apart
from jim.guide import guide

AT_ONCE = 1_000  # rows
STATEMENTS = 1_000  # that SQLite keeps ready: a keeper has more than the usual 128, and made them anew again and again
WRITER_SECONDS, READER_SECONDS = 10.0, 4.0  # to wait for a lock; readers meet one only if a program misuses the file
MEMORY = Path(":memory:")  # SQLite's name for a database without a file: no directory has it
MAGIC, HEAD = b"SQLite format 3\0", 28  # bytes
BY_JOURNAL = b"\1\1"  # how a database is written and read: changes go through a journal
GOES_ON = "A running keeper tries again by itself."
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
    Busy: (
        f"{{file}} is locked by another program ({{said}}). {GOES_ON} If this lasts, end the programs that "
        f"`fuser {{file}}` names"
    ),
    DiskFull: f"{{file}} cannot grow, because its disk is full ({{said}}). {GOES_ON} Free space, or raise the quota",
    Away: (
        f"JIM cannot read or write {{file}} ({{said}}). {GOES_ON} Check that its disk is mounted and that this "
        "account may write there"
    ),
    Damaged: "{file} is damaged ({said}): end its keeper, and move the whole state directory away "
    f"({guide('operating.md')}, Troubleshooting)",
    NotStorable: "{file} cannot hold a submitted value ({said})",
    LogLost: "another program has removed or replaced {said}, which this keeper had open. It stores nothing more, and "
    "leaves {file} as it is; the next keeper goes on with what is there, and a door or poll starts that by itself. End "
    "the programs that `fuser {file}` names, run `jim site check`, and let only JIM write this database",
    TooLong: "{file}: {said}",
    StoreError: "{file}: {said}; `jim site check` tells whether it is damaged",
}


class Cursor(sqlite3.Cursor):
    """Rows; there may be very many."""

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
        """Return the next row, or None."""
        try:
            return super().fetchone()
        except sqlite3.Error as error:
            raise translated(self.connection.file, error) from error

    def fetchall(self) -> list[Any]:
        """Return all rows."""
        try:
            return super().fetchall()
        except sqlite3.Error as error:
            raise translated(self.connection.file, error) from error

    def fetchmany(self, size: int | None = AT_ONCE) -> list[Any]:
        """Return the next rows."""
        try:
            return super().fetchmany(size)
        except sqlite3.Error as error:
            raise translated(self.connection.file, error) from error

    def __iter__(self) -> Any:
        while rows := self.fetchmany():
            yield from rows


class Connection(sqlite3.Connection):
    """A connection to the status DB: its errors are `StoreError`."""

    file: Path

    def cursor(self, factory: Any = None) -> Any:
        """Return a cursor that translates errors.

        Only this method of SQLite's module forgets ended cursors: with `Cursor(connection)`, each would leave a weak
        reference for as long as the connection lasts.
        """
        return super().cursor(Cursor)

    def execute(self, sql: str, values: Any = (), /) -> Cursor:
        """Run a statement."""
        cursor: Cursor = self.cursor()
        return cursor.execute(sql, values)

    def executemany(self, sql: str, values: Iterable[Any], /) -> Cursor:
        """Run a statement for each of several values."""
        cursor: Cursor = self.cursor()
        return cursor.executemany(sql, values)

    def executescript(self, sql: str, /) -> Cursor:
        """Run several statements."""
        try:
            found: Cursor = super().executescript(sql)  # type: ignore[assignment]
        except sqlite3.Error as error:
            raise translated(self.file, error) from error
        return found


def translated(file: Path, error: Exception) -> StoreError:
    """Return the `StoreError` for an error of SQLite; it says what JIM does next, and what the reader can do."""
    if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError | sqlite3.InterfaceError | OverflowError):
        return store_error(NotStorable, file, error)
    code = getattr(error, "sqlite_errorcode", None)
    other = Damaged if type(error) is sqlite3.DatabaseError else StoreError
    return store_error(other if code is None else KINDS.get(code & 0xFF, other), file, error)


def store_error(kind: type[StoreError], file: Path, said: object) -> StoreError:
    """Return an error of a kind, with its words."""
    return kind(WORDS[kind].format(file=file, said=said))


def opened(file: Path, *, write: bool) -> tuple[Connection, int]:
    """Open the status DB; return the connection and the format of the file."""
    place = str(MEMORY) if file == MEMORY else _place_of(file, write=write)
    patience = WRITER_SECONDS if write else READER_SECONDS
    try:
        db = sqlite3.connect(
            place, uri=True, isolation_level=None, timeout=patience, factory=Connection, cached_statements=STATEMENTS
        )
    except sqlite3.Error as error:
        raise translated(file, error) from error
    db.file = file
    db.execute(f"PRAGMA cache_size = {-32000 if write else -8000}")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if file != MEMORY:
        set_apart(file)  # once more: SQLite may have made the files beside it only now
    return db, version


def _place_of(file: Path, *, write: bool) -> str:
    _refuse_special(file)
    set_apart(file)
    return f"file:{quote(str(file))}?mode={'rwc' if write else _to_read(file)}"


class NoAnswer(JimError):
    """The database of a site does not answer; the words are SQLite's."""


def first_column(file: Path, query: str, value: object) -> list[Any]:
    """Return the first column of a query's result in a site's database, which is opened for reading."""
    try:
        with apart(file), closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return [row[0] for row in db.execute(query, (value,))]
    except sqlite3.Error as error:
        raise NoAnswer(str(error)) from error


def rows_without_lock(file: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query in the database of a program that must not meet a lock of ours.

    What the program changes meanwhile is no answer. It makes a journal before it writes into the database, and removes
    the journal last; and each change raises a counter in the first page.
    """
    try:
        before = _changes(file)
        _require_rest(file)
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            rows = db.execute(query).fetchall()
        _require_rest(file)
        if _changes(file) != before:
            raise NoAnswer(f"{file} was changed meanwhile")
    except (sqlite3.Error, OSError) as error:
        raise NoAnswer(f"{file} cannot be read: {error}") from error
    return rows


def _changes(file: Path) -> tuple[int, bytes]:
    """Return what tells one state of a database from another."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(descriptor)
        head = os.pread(descriptor, HEAD, 0) if stat.S_ISREG(about.st_mode) else b""
        if not head.startswith(MAGIC) or head[18:20] != BY_JOURNAL:
            raise NoAnswer(f"{file} is no SQLite database with a journal")
        return about.st_ino, head[24:]
    finally:
        os.close(descriptor)


def _require_rest(file: Path) -> None:
    if any(os.path.lexists(f"{file}{each}") for each in ("-journal", "-wal")):
        raise NoAnswer(f"{file} is being changed")


def _refuse_special(file: Path) -> None:
    """Refuse special files, such as a pipe, in place of the database or of SQLite's files beside it.

    A process that serves other accounts must not hang in a file that one of them has made.
    """
    for each in beside(file):
        if each.exists() and not each.is_file():
            raise JimError(f"{each} is not a regular file: move it away")


def _to_read(file: Path) -> str:
    """Return the SQLite mode for reading.

    Readers share a file beside the database; on a read-only disk there is none, and no writer.
    """
    alone = not file.with_name(f"{file.name}-wal").exists()
    return "ro&immutable=1" if alone and os.statvfs(file).f_flag & os.ST_RDONLY else "ro"


@contextmanager
def transaction(db: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """Run a transaction: all of it or nothing, durable at its end; inside a larger transaction it is a part of that."""
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
    """Run a part of a larger transaction: all of the part or nothing; the transaction continues without it."""
    db.execute("SAVEPOINT part")
    whole = False
    try:
        yield
        whole = True
    finally:
        if db.in_transaction:  # otherwise SQLite itself has undone the whole transaction, as on a full disk
            if not whole:
                db.execute("ROLLBACK TO part")
            db.execute("RELEASE part")

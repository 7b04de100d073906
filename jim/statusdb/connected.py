"""The general parts of an SQLite store: its file, its format, its transactions, and facts about itself."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from jim.clock import Clock
from jim.database import MEMORY, opened, part, store_error, transaction
from jim.errors import Damaged, JimError, LogLost, StoreError, UnknownJob
from jim.files import identity_of, set_apart
from jim.jobs import HELD
from jim.statusdb.derived_sql import let_make
from jim.statusdb.formats import FIRST, VERSION, schema
from jim.statusdb.rows import LOOK_ANEW, RAISE_VERSION

Identity = tuple[int, int] | None
UPGRADES_OLDEST = "91090c08"  # the last commit that upgrades formats before the first that was released
WITHIN = nullcontext()  # stands for a transaction inside a larger one, which alone commits, undoes and forgets


class Connected:
    """A status DB as a file."""

    def __init__(self, file: Path, clock: Clock, *, write: bool = False) -> None:
        if not write and not file.exists():
            raise UnknownJob(f"there are no grid jobs yet in {file.parent}")
        self.file, self.clock, self._writes = file, clock, write
        self._requests: dict[int, str] = {}  # of unfinished grid jobs, kept as they are read again and again
        self._in_batch: int | None = None  # local jobs, once they are counted
        self._changed: set[int] = set()  # grid jobs
        self._shows_tasks_anew = False  # whether the transaction changes what people see of tasks
        self._touched: set[int] = set()  # grid jobs that this transaction gives a new version
        self.db, self._format = opened(file, write=write)
        if self._format > VERSION:
            raise JimError(
                f"{self.file} was written by a newer JIM (format {self._format}; this JIM knows formats up to "
                f"{VERSION}): run the newer one again, or put back the database of before the upgrade"
            )
        if 0 < self._format < (FIRST if write else VERSION):
            raise JimError(self._too_old())
        let_make(self.db)
        self._inodes: tuple[Identity, Identity] = (None, None)
        if write:
            self._prepare(self._format)

    def _too_old(self) -> str:
        """Say of an older format who can upgrade it."""
        if self._format >= FIRST:
            return f"{self.file} has format {self._format} of an older JIM: the next keeper of this JIM upgrades it"
        return (
            f"{self.file} has format {self._format}, of which no JIM was released; the last that could upgrade it was "
            f"commit {UPGRADES_OLDEST} of JIM's sources: start its keeper once on this state directory"
        )

    def _prepare(self, version: int) -> None:
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute("PRAGMA wal_autocheckpoint = 8000")  # 32 MB: a mass change should rarely wait for the disk
        if version < VERSION:
            self.db.executescript(f"BEGIN; {schema(version)} PRAGMA user_version = {VERSION}; COMMIT;")
        self._format = VERSION
        if self.file != MEMORY:
            set_apart(self.file)  # of a new database, SQLite has made the log only now
            self._inodes = identity_of(self.file), identity_of(self._log)

    def close(self) -> None:
        """Close the store."""
        self.db.close()

    def is_made(self) -> bool:
        """Tell whether the store has tables: a keeper that was killed while it made the store leaves an empty file."""
        return self._format > 0

    def copy_to(self, file: Path) -> None:
        """Write the whole store, as of one moment, into a new file."""
        self.db.execute("VACUUM INTO ?", (str(file),))

    def look_for_damage(self, seconds: float) -> bool:
        """Check the store for this many seconds; tell whether the whole store was read."""
        until = time.monotonic() + seconds
        self.db.set_progress_handler(lambda: time.monotonic() > until, 1000)
        try:
            found = str(self.db.execute("PRAGMA quick_check(1)").fetchone()[0])
        except Damaged:
            raise
        except StoreError:  # interrupted, locked, or its disk is away: this is not damage
            self.db.set_progress_handler(None, 0)
            self.db.execute("SELECT 1 FROM grid_job LIMIT 1").fetchone()
            return False
        finally:
            self.db.set_progress_handler(None, 0)
        if found != "ok":
            raise store_error(Damaged, self.file, " ".join(found.split()))
        return True

    def transaction(self) -> AbstractContextManager[None]:
        """Store all changes or none; inside a larger transaction, be a part of that transaction."""
        return WITHIN if self.db.in_transaction else self._forgetting_if_undone(transaction(self.db))

    def part(self) -> AbstractContextManager[None]:
        """Store all changes of a part or none, inside a larger transaction that continues in either case."""
        return self._forgetting_if_undone(part(self.db))

    @contextmanager
    def _forgetting_if_undone(self, changes: AbstractContextManager[None]) -> Iterator[None]:
        """Raise versions at the end of a transaction; forget what is kept in memory if changes were undone."""
        whole, outermost = False, not self.db.in_transaction
        try:
            with changes:
                yield
                if outermost:
                    self._raise_versions()
            if outermost:  # what was stored may be nowhere, so nothing may be done on the strength of it
                self.require_log()
            whole = True
        finally:
            if not whole:
                self._in_batch = None
                self._requests.clear()

    @property
    def _log(self) -> Path:
        return self.file.with_name(f"{self.file.name}-wal")

    def require_log(self) -> None:
        """Raise `LogLost` if the log of changes that the keeper writes is no longer the one of the status DB.

        A program that found no lock on the status DB may have removed it, at its own end. A status DB that is away as
        a whole proves nothing.
        """
        try:
            lost = self._inodes[1] and identity_of(self._log) != self._inodes[1]
            if lost and identity_of(self.file) == self._inodes[0]:
                raise store_error(LogLost, self.file, self._log)
        except OSError:  # the disk is away: SQLite notices
            return

    def touch(self, *grids: int) -> None:
        """Record, in a transaction, that something of grid jobs changes."""
        self._changed.update(grids)
        self._touched.update(grids)

    def show_anew(self, *grids: int) -> None:
        """Record, in a transaction, that something of grid jobs changes that only people see, and no move acts on."""
        self._touched.update(grids)

    def show_tasks_anew(self) -> None:
        """Record, in a transaction, that something of a task changes that people see."""
        self._shows_tasks_anew = True

    def _raise_versions(self) -> None:
        """Raise the version of each grid job that the transaction has changed, and that of the store."""
        touched, self._touched = self._touched, set()
        if touched:
            sql = "UPDATE grid_job SET version = version + 1 WHERE id IN (SELECT value FROM json_each(?))"
            self.db.execute(sql, (json.dumps(sorted(touched)),))
        if touched or self._shows_tasks_anew:
            self.db.execute(RAISE_VERSION)
        self._shows_tasks_anew = False

    def version(self, grid: int | None = None) -> int | None:
        """Return the version of a grid job, or of the whole store; None: there is no such grid job."""
        if grid is None:
            return int(self.fact("version") or 0)
        row = self.db.execute("SELECT version FROM grid_job WHERE id = ?", (grid,)).fetchone()
        return int(row[0]) if row else None

    def snapshot(self) -> AbstractContextManager[None]:
        """Read the store as of one moment, even while the keeper writes."""
        return transaction(self.db, "DEFERRED")

    def changes(self) -> int:
        """Return a number that grows with every change that this store makes."""
        return self.db.total_changes

    def changed(self) -> set[int]:
        """Return the grid jobs that were changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    # Facts about the directory itself

    def fact(self, name: str) -> str:
        """Return a fact; empty if it was never set."""
        return next((str(value) for (value,) in self.db.execute("SELECT value FROM meta WHERE name = ?", (name,))), "")

    def set_fact(self, name: str, value: str) -> None:
        """Record a fact."""
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def make_due(self, jump: float = 0.0) -> None:
        """Make everything due at once except `HELD` local jobs; reset the count of looks for lost submissions.

        `jump` is by how many seconds somebody has set the clock: no part of this is time that something has waited.
        """
        with self.transaction():
            for table in ("grid_job", "local_job", "submission"):
                self.db.execute(f"UPDATE {table} SET due = 0 WHERE due > 0 AND due < ?", (HELD,))
            # Some time must pass between two looks for a lost submission: count again from the start, because nobody
            # knows the time passed.
            self.db.execute(LOOK_ANEW)

    # Work on files after a transaction, which records it: a killed keeper finds it again

    def fulfil(self, name: str) -> None:
        """Record, in the transaction of a wish's changes, that the wish is fulfilled and its file must be removed."""
        self.db.execute("INSERT INTO fulfilled VALUES (?)", (name,))

    def fulfilled(self) -> set[str]:
        """Return the fulfilled wishes whose files may be left."""
        return {name for (name,) in self.db.execute("SELECT name FROM fulfilled")}

    def wishes_are_gone(self, names: Iterable[str]) -> None:
        """Forget fulfilled wishes whose files are gone."""
        with self.transaction():
            self.db.executemany("DELETE FROM fulfilled WHERE name = ?", ((name,) for name in names))


class StorePart:
    """A part of the store: what it keeps of one thing, on the connection of all."""

    def __init__(self, connected: Connected) -> None:
        self.connected, self.db, self.clock = connected, connected.db, connected.clock

    def transaction(self) -> AbstractContextManager[None]:
        """Store all changes or none; inside a larger transaction, be a part of that transaction."""
        return self.connected.transaction()

"""The stores that are held to the contract, each with the faults that only it knows how to make."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from jim.clock import Clock
from jim.model import Piece
from jim.statusdb import file_of, open_store
from jim.statusdb.store import Store

REQUEST = {"job_type": "parametric", "argument_sets": [["1"], ["2"]]}
CREATED = "2026-01-31T11:00:00.000Z"


def add(store: Store, grid: int = 1, size: int = 3) -> None:
    """Take in a grid job and split it."""
    store.add_grid_job(grid, f"key-{grid}", "someone", CREATED, REQUEST)
    store.add_pieces(grid, 0, [Piece(arguments=(str(n),)) for n in range(size)])
    store.end_split(grid, size)


class Sqlite:
    """The store in a file of SQLite's."""

    name = "sqlite"

    def __init__(self, place: Path) -> None:
        self.place, self.file = place, file_of(place)

    def open(self, *, write: bool = True, clock: Clock | None = None) -> Store:
        return open_store(self.place, clock or Clock(), write=write)

    def impatient(self, store: Store) -> Store:
        """Let a store wait for no lock."""
        store.db.execute("PRAGMA busy_timeout = 1")
        return store

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let somebody else hold the store."""
        with closing(sqlite3.connect(self.file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")

    @contextmanager
    def full(self, store: Store) -> Iterator[None]:
        """Let there be no room for a store to grow."""
        pages = store.db.execute("PRAGMA page_count").fetchone()[0]
        store.db.execute(f"PRAGMA max_page_count = {pages}")
        yield
        store.db.execute("PRAGMA max_page_count = 1000000")

    def damage(self) -> None:
        """Write nonsense over what is stored, behind what tells that it is a store."""
        whole = self.file.read_bytes()
        self.file.write_bytes(whole[:4096] + b"\x55" * (len(whole) - 4096))

    def take_away(self) -> None:
        """Let what is opened next be out of reach."""
        self.place.rename(self.place.with_name("away"))

    def write_a_later_kind(self) -> None:
        """Let a JIM of the future have told the reasons of local jobs."""
        with closing(sqlite3.connect(self.file, isolation_level=None)) as db:
            db.execute("UPDATE local_job SET kind = 'of the future'")

    def write_as_format(self, number: int) -> None:
        """Let a JIM of another time have written it."""
        with closing(sqlite3.connect(self.file, isolation_level=None)) as db:
            db.execute(f"PRAGMA user_version = {number}")


GROUNDS = {each.name: each for each in (Sqlite,)}


def die_halfway(name: str, place: str) -> None:
    """Store one thing, and be killed in the middle of storing the next ones."""
    store = GROUNDS[name](Path(place)).open()
    add(store)
    with store.transaction():
        store.set_grid_job(1, wish="cancel")
        store.add_grid_job(2, "two", "someone", CREATED, REQUEST)
        os.kill(os.getpid(), signal.SIGKILL)

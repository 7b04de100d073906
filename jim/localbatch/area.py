"""An area: the directory of one local batch system, with its queue file and its daemon's lock."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path

from jim.errors import BadSite
from jim.files import set_apart, sync_directory

VERSION = 2
QUEUE_FILE = "queue.db"
LOCK_FILE = "daemon.lock"
LOG_FILE = "daemon.log"
BUSY_SECONDS = 10.0  # how long a verb waits for another one's transaction


class Lock:
    """The right to serve an area: an flock, given up by the kernel when its holder dies."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        # The verb that started us passed it on inheritable; a task that held it would lock out the next daemon.
        os.set_inheritable(descriptor, False)

    @classmethod
    def open(cls, directory: Path) -> Lock:
        """Open the lock file without taking the lock."""
        return cls(os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))

    def take(self) -> bool:
        """Take the lock; False if another process has it."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        with suppress(OSError):  # the pid is for people; a full disk must not prevent serving
            os.ftruncate(self.descriptor, 0)
            os.pwrite(self.descriptor, f"{os.getpid()}\n".encode(), 0)
        return True

    def release(self) -> None:
        """Release the lock, even if other processes have the descriptor open."""
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the descriptor; a process that got the descriptor keeps the lock."""
        os.close(self.descriptor)


def connect(directory: Path) -> sqlite3.Connection:
    """Open the queue; make it if it is missing."""
    file = directory / QUEUE_FILE
    if not file.exists():
        _make(directory)
    db = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None)
    db.execute("PRAGMA synchronous = FULL")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    set_apart(file)  # a payload may link it where the daemon reads its files
    if version != VERSION:
        known = f"has format {version}, this program knows {VERSION}"
        raise BadSite(f"{file} {known}: let the JIM that made it end its jobs, then remove {directory}")
    return db


def _make(directory: Path) -> None:
    """Make an empty queue in one step; if several processes do so, the first wins."""
    directory.mkdir(mode=0o700, exist_ok=True)  # without parents: a late verb must not make a removed directory again
    there = {entry.name for entry in directory.iterdir() if not entry.name.startswith(".")}
    if there and QUEUE_FILE not in there:
        # A lost queue must not look like an empty one, nor give out ids from 1 again.
        raise BadSite(f"{directory} has no {QUEUE_FILE}, but is not empty: restore it, or name an empty directory")
    fresh = directory / f".{QUEUE_FILE}.{os.getpid()}"
    fresh.unlink(missing_ok=True)
    schema = Path(__file__).with_name("schema.sql").read_text()
    with closing(sqlite3.connect(fresh, isolation_level=None)) as db:
        db.executescript(f"PRAGMA journal_mode = WAL; BEGIN; {schema} PRAGMA user_version = {VERSION};")
        db.execute("INSERT INTO area (identity, slots) VALUES (?, ?)", (os.urandom(12).hex(), os.cpu_count() or 1))
        db.execute("COMMIT")
    with suppress(FileExistsError):
        os.link(fresh, directory / QUEUE_FILE)
    fresh.unlink()
    sync_directory(directory)


def wake(directory: Path) -> None:
    """Start the daemon unless one serves this area; call this after the commit of work for it."""
    lock = Lock.open(directory)
    try:
        if lock.take():
            _start(directory, lock)  # the daemon inherits the lock, so no second one can take it
    finally:
        lock.close()


def _start(directory: Path, lock: Lock) -> None:
    from jim.command import scrubbed_environment, spawn  # slow to import, and most verbs find a daemon

    words = (sys.executable, "-P", "-s", "-m", "jim.localbatch", "--area", str(directory), "serve")
    inherited = ("--lock", str(lock.descriptor))
    spawn([*words, *inherited], env=scrubbed_environment(), pass_fds=(lock.descriptor,))

"""An area: the directory of one local batch system, with its queue file and its daemon's lock."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import stat
import sys
from contextlib import closing, suppress
from pathlib import Path

from jim.errors import BadSite
from jim.files import set_apart, sync_directory

VERSION = 2
QUEUE_FILE = "queue.db"
LOCK_FILE = "daemon.lock"  # with the pid
LOG_FILE = "daemon.log"
BUSY_SECONDS = 10.0  # how long a verb waits for another one's transaction


class Lock:
    """The right to serve an area: an flock of its directory, given up by the kernel when its holder dies.

    A file may be removed by whatever cleans up; then a second daemon would take the lock of a new one, and each would
    kill the payloads of the other. The file with the pid is for people, and for older daemons, which lock it.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._file: int | None = None  # the file with the pid
        # The verb that started us passed it on inheritable; a task that held it would lock out the next daemon.
        os.set_inheritable(descriptor, False)

    @classmethod
    def open(cls, directory: Path) -> Lock:
        """Open the directory without taking the lock."""
        return cls(os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def take(self) -> bool:
        """Take the lock; False if another process has it."""
        try:
            if not _flock(self.descriptor, fcntl.LOCK_EX):
                return False
        except OSError as error:
            if error.errno != errno.EBADF or not self._is_directory():
                raise
            # NFS locks only what is open for writing, which no directory is: there the file decides.
            file = self._open_file()
            os.close(self.descriptor)
            self.descriptor = file
            return self.take()
        if self._is_directory():
            self._file = self._open_file()
            if not _flock(self._file, fcntl.LOCK_SH):  # a daemon of an older version serves
                self.release()
                return False
        with suppress(OSError):  # the pid is for people; a full disk must not prevent serving
            file = self.descriptor if self._file is None else self._file
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        return True

    def is_of(self, directory: Path) -> bool:
        """Tell whether a directory is the one that was locked; one that cannot be looked at may be."""
        try:
            there = directory.stat()
        except OSError:
            return True
        return not self._is_directory() or os.path.samestat(there, os.fstat(self.descriptor))

    def release(self) -> None:
        """Release the lock, even if other processes have the descriptor open."""
        self._close_file()
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the descriptor; a process that got the descriptor keeps the lock."""
        self._close_file()
        os.close(self.descriptor)

    def _is_directory(self) -> bool:
        return stat.S_ISDIR(os.fstat(self.descriptor).st_mode)

    def _open_file(self) -> int:
        return os.open(LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=self.descriptor)

    def _close_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _flock(descriptor: int, kind: int) -> bool:
    """Take an flock at once; False if another process has one that excludes it."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def connect(directory: Path, *, make: bool = True) -> sqlite3.Connection:
    """Open the queue; make it if it is missing, or say that it is."""
    file = directory / QUEUE_FILE
    if not file.exists():
        if not make:
            # A lost queue must not look like an empty one. And a late verb must not make anew what is being put back.
            raise BadSite(f"{directory} has no {QUEUE_FILE}: `init`, `submit` and `ping` make one")
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
    if there and QUEUE_FILE not in there:  # nor must a lost queue give out ids from 1 again
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

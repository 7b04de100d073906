"""Does a keeper run? The lock that makes it the only one of its state directory, and its heartbeat."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jim.clock import Clock
from jim.errors import JimError

LOCKS = Path("/proc/locks")


OPENING_SECONDS = 5.0


FRESH_SECONDS = 20  # an older heartbeat is no keeper's; jim-poll says the same


def heart_beats(state: Path, clock: Clock) -> bool:
    """Tell whether a keeper beat its heart a moment ago, in this run of the machine."""
    try:
        boot, beat = (state / "heartbeat").read_text().split()
        return boot == clock.boot_id() and clock.boot() - int(beat) <= FRESH_SECONDS
    except (OSError, ValueError):  # none yet; or the last one left for want of work
        return False


def runs(state: Path) -> bool:
    """Tell whether a keeper holds the lock. Looking takes it for a moment, so who finds it free must start one."""
    lock = os.open(state / "keeper.lock", os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def holder(state: Path) -> int:
    """Give the pid of the keeper that holds the lock; 0: none does. Asked of the system, so that none is kept out."""
    try:
        file = state / "keeper.lock"
        pid, inode = int(file.read_text()), file.stat().st_ino
        held = re.search(rf"^\d+: FLOCK +ADVISORY +WRITE +{pid} \S+:{inode} ", LOCKS.read_text(), re.MULTILINE)
    except (OSError, ValueError):
        return 0
    return pid if held else 0


@contextmanager
def alone(state: Path) -> Iterator[None]:
    """Keep every keeper out; refuse where one is at work. One that only finds out that it must end is waited for."""
    lock, until = Lock(state), time.monotonic() + OPENING_SECONDS
    while not lock.take():
        if time.monotonic() > until:
            raise JimError(f"a keeper is at work in {state} (pid {holder(state)}): end it first; that loses nothing")
        time.sleep(0.1)
    try:
        yield
    finally:
        lock.release()


class Lock:
    """The lock that makes a keeper the only one; it goes with the process, whatever ends it."""

    def __init__(self, state: Path) -> None:
        self._path = state / "keeper.lock"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self) -> bool:
        """Take the lock if it is free."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)  # for people
        return True

    def is_there(self) -> bool:
        """Tell whether the file is still in its place; else the state directory is gone, or was moved.

        There it needs a keeper of its own, which gets the lock only when we end.
        """
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._file))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:  # a disk that does not answer just now
            return True

    def release(self) -> None:
        """Let another keeper take over."""
        fcntl.flock(self._file, fcntl.LOCK_UN)

"""The keeper's lock, which ensures that a state directory has only one keeper, and the keeper's heartbeat."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from jim.clock import Clock
from jim.errors import JimError
from jim.files import read_regular

LOCKS = Path("/proc/locks")


OPENING_SECONDS = 5.0


LONGEST_BEAT = 1000
FRESH_SECONDS = 20  # an older heartbeat means that no keeper runs; jim-poll uses the same number
MISSED_SECONDS = 5  # a keeper beats every 2 s: if its beats are missing for this long, it may have been killed


def heart_beats(state: Path, clock: Clock) -> bool:
    """Tell whether a keeper updated the heartbeat recently, and since the machine last started."""
    try:
        boot, beat = read_regular(state / "heartbeat", LONGEST_BEAT).decode().split()
        age = clock.boot() - int(beat)
        fresh = boot == clock.boot_id() and age <= FRESH_SECONDS
        return fresh and not (age > MISSED_SECONDS and _was_killed(state))
    except (OSError, ValueError, JimError):  # no heartbeat yet, or the last keeper ended because there was no work
        return False


def _was_killed(state: Path) -> bool:
    """Tell whether the process that last held the lock is gone; it did not say that it would end."""
    try:
        os.kill(int((state / "keeper.lock").read_text()), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):  # a process of another account, or a lock that this account may not read
        return False
    return False


def runs(state: Path) -> bool:
    """Tell whether a keeper holds the lock. The check holds a free lock for a moment.

    A caller who finds the lock free must therefore start a keeper.
    """
    lock = os.open(state / "keeper.lock", os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def holder(state: Path) -> int:
    """Return the pid of the keeper that holds the lock; 0: none does. This check does not take the lock."""
    try:
        file = state / "keeper.lock"
        pid, inode = int(file.read_text()), file.stat().st_ino
        held = re.search(rf"^\d+: FLOCK +ADVISORY +WRITE +{pid} \S+:{inode} ", LOCKS.read_text(), re.MULTILINE)
    except (OSError, ValueError):
        return 0
    return pid if held else 0


@contextmanager
def alone(state: Path) -> Iterator[None]:
    """Keep every keeper out; refuse if one is working. A keeper that is about to end is waited for."""
    until = time.monotonic() + OPENING_SECONDS
    while True:
        with closing(Lock(state)) as lock:
            if lock.take() and lock.is_there():  # else keepers lock another file in its place
                yield
                return
        if time.monotonic() > until:
            raise JimError(
                f"a keeper is at work in {state} (pid {holder(state)}): end it first by `jim keeper --end`; "
                "no grid job is lost by that"
            )
        time.sleep(0.1)


class Lock:
    """The keeper's lock. The kernel frees it when the process ends, for whatever reason."""

    def __init__(self, state: Path) -> None:
        self._path = state / "keeper.lock"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    def take(self) -> bool:
        """Take the lock if it is free."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)  # for people who look into the file
        return True

    def is_there(self) -> bool:
        """Tell whether the lock file is still in its place; otherwise the state directory was removed or moved.

        A moved state directory needs a keeper of its own, which gets the lock only when this keeper ends.
        """
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._file))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:  # the disk does not answer at the moment
            return True

    def release(self) -> None:
        """Free the lock for another keeper."""
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Free the lock, and close its file."""
        self.release()
        os.close(self._file)

"""Reads files on a disk that may hang: a file server that does not answer must not hold up those who look."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from typing import TypeVar

from jim.errors import JimError

Found = TypeVar("Found")
SECONDS = 3.0
AWAY_SECONDS = 10.0  # after a read without an answer, nothing is tried for so long
MOST_WAITING = 8  # threads; nobody can end one that waits for a file server
SAID = "the file server does not answer"


class Patience:
    """A way to read that ends with `TimeoutError` if there is no answer in time."""

    def __init__(self, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        from threading import Lock  # commands for a terminal read at once: they load no threads

        self._seconds, self._clock, self._lock = seconds, clock, Lock()
        self._waiting, self._away_until = 0, 0.0

    def __call__(self, read: Callable[[], Found]) -> Found:
        """Return what a function reads; the function must not use the store, since a thread of its own calls it."""
        from threading import Event, Thread

        self._begin()
        found: list[Found] = []
        failed: list[JimError | OSError] = []
        ended = Event()

        def work() -> None:
            try:
                found.append(read())
            except (JimError, OSError) as error:
                failed.append(error)
            finally:
                self._end()
                ended.set()

        Thread(target=work, daemon=True, name="disk").start()
        if not ended.wait(self._seconds):
            self._away_until = self._clock() + AWAY_SECONDS
            raise _away()
        if failed:
            raise failed[0]
        return found[0]  # any other error is a fault of JIM, which the thread has reported

    def _begin(self) -> None:
        with self._lock:
            if self._waiting >= MOST_WAITING or self._clock() < self._away_until:
                raise _away()
            self._waiting += 1

    def _end(self) -> None:
        with self._lock:
            self._waiting -= 1


def _away() -> TimeoutError:
    return TimeoutError(errno.ETIMEDOUT, SAID)

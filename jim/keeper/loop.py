"""The loop of the keeper, the one background process of a state directory: its lock, pace and heartbeat.

The loop gets its work as an argument and knows no move.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from jim.clock import Clock
from jim.errors import JimError, LogLost, Outdated, Replaced
from jim.files import replace
from jim.keeper.bell import Bell
from jim.model import KEEPER_ENDS
from jim.site.lock import Lock

log = logging.getLogger(__name__)
ROUND_SECONDS = 0.2  # the longest time of taking in results between two rounds
BEAT_SECONDS = 2.0
LONGEST_REST = 2.0  # if doors can call the keeper
LONGEST_PAUSE = 2.0  # after rounds that failed
# A full disk or a locked database: nothing is lost, for no step relies on anything that is not stored.
FAILURES = (OSError, JimError)
ENDING = (Outdated, LogLost, Replaced)


class Work(Protocol):
    """The work of the keeper."""

    def round(self) -> None:
        """Make every move once."""

    def rest(self) -> float:
        """Return for how many seconds nothing is to be done, unless `deliver` gets a result."""

    def deliver(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for a worker's result and take it in; tell whether one came."""

    def wake(self) -> None:
        """Make `deliver` return. Called by another thread."""

    def idle(self) -> bool:
        """Tell whether no work is left."""

    def close(self) -> None:
        """Release threads and files."""


def keep(state: Path, clock: Clock, idle_seconds: float, open_work: Callable[[], Work]) -> bool:
    """Run the keeper of a state directory until no work is left; tell whether the lock was free."""
    lock = Lock(state)
    while lock.take():
        _write_heartbeat(
            state, f"{clock.boot_id()} {int(clock.boot())}\n"
        )  # the last one may say that nothing is to do
        with _unclosed_if_lost():
            work = open_work()
        bell = Bell(state, work.wake)
        log.info("a keeper begins, pid %d, for %s", os.getpid(), state)
        try:
            with _unclosed_if_lost():
                _rounds(state, clock, idle_seconds, work, lock, longest=LONGEST_REST if bell.hangs else ROUND_SECONDS)
        finally:
            bell.close()
            work.close()
        if not lock.is_there():
            log.warning("the keeper, pid %d, ends: its lock is not in %s any more", os.getpid(), state)
            return True
        log.info("the keeper, pid %d, ends: nothing to do for %g s", os.getpid(), idle_seconds)
        _write_heartbeat(state, f"{clock.boot_id()} idle\n")
        lock.release()
        # A door that found the lock taken a moment ago relies on this keeper: look once more.
        if not any(not name.startswith(".") for name in os.listdir(state / "inbox")):  # noqa: PTH208 - names suffice
            return True
    return False


@contextmanager
def _unclosed_if_lost() -> Iterator[None]:
    """End the keeper at once if its store has lost its log: to close the store would write that log into it."""
    try:
        yield
    except LogLost as error:
        log.critical("%s%s", KEEPER_ENDS, error)
        os._exit(1)


def _rounds(state: Path, clock: Clock, idle_seconds: float, work: Work, lock: Lock, *, longest: float) -> None:
    beat, busy_at, failures = 0.0, clock.boot(), 0
    while lock.is_there():
        now, idle, failed = clock.boot(), False, False
        try:
            work.round()
            if now >= beat:
                _write_heartbeat(state, f"{clock.boot_id()} {int(now)}\n")
                beat = now + BEAT_SECONDS
            idle = work.idle()
        except ENDING:
            raise
        except FAILURES as error:
            failed = True
            log.error("a round failed (%d in a row), will go on: %s: %s", failures + 1, type(error).__name__, error)
        if not idle:
            busy_at = now
        elif now - busy_at > idle_seconds:
            return
        failed = not _deliver(work, longest) or failed
        failures = failures + 1 if failed else 0
        if failed:
            time.sleep(min(LONGEST_PAUSE, 0.2 * 2**failures))


def _deliver(work: Work, longest: float) -> bool:
    """Wait for work, take in the results of workers, and tell whether all of them were stored."""
    more, stored, waited = True, True, False
    until = math.inf
    while more and time.monotonic() < until:
        try:
            more = work.deliver(0 if waited else min(longest, work.rest()))
        except ENDING:
            raise
        except FAILURES as error:
            stored = False
            log.error("a result was not stored and will be found again: %s: %s", type(error).__name__, error)
        if not waited:
            waited, until = True, time.monotonic() + ROUND_SECONDS
    return stored


def _write_heartbeat(state: Path, text: str) -> None:
    file = state / "heartbeat"
    with suppress(OSError):
        try:
            replace(file, text.encode())
        except OSError:  # without a heartbeat, polls try to wake a keeper and find the lock taken
            file.unlink()

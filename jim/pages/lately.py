"""Computes slow answers in threads, two at a time; pages show them with their age."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from jim.errors import JimError
from jim.reading.view import View

log = logging.getLogger(__name__)
EVERY_SECONDS = 10.0
TIMES_LONGER = 20  # an answer that took one second is good for at least 20
STILL_SECONDS = 60.0  # if nothing in the store has changed, the answer is good for so long
FIRST_SECONDS = 1.5  # the first request waits so long
SOON_SECONDS = 0.03  # a page for which the answer is only a part of many waits so long
AT_ONCE = 2  # so that a short search seldom waits for a long one
MOST_KEPT = 20
MOST_SECONDS = 60.0
Find = Callable[[View], Any]


@dataclass
class Told:
    """An answer and its time; None before the first one."""

    what: Any = None
    at: str = ""
    version: int | None = None  # of the store
    made: threading.Event = field(default_factory=threading.Event)
    found: float = 0.0  # by a clock that nobody can set, as is `ended`
    ended: float = 0.0  # the last look whether the answer still holds
    took: float = 0.0
    busy: bool = False


@dataclass
class Lately:
    """The last answers to slow questions."""

    open: Callable[[], View]
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(AT_ONCE))
    _told: dict[str, Told] = field(default_factory=dict)
    news: int = 0  # questions that were answered for the first time

    def get(self, name: str, find: Find, seconds: float = FIRST_SECONDS, *, of_files: bool = False) -> tuple[str, Any]:
        """Return the last answer and its time, and compute it anew if too old. Only the first request waits for it.

        An answer that comes from files, too, such as claims, may change while the store does not.
        """
        with self._lock:
            told = self._told.pop(name, None) or Told()
            self._told[name] = told
            if len(self._told) > MOST_KEPT:
                del self._told[next(iter(self._told))]
            old = self.clock() - told.ended > max(EVERY_SECONDS, TIMES_LONGER * told.took)
            if not told.busy and (old or not told.made.is_set()):
                told.busy = True
                threading.Thread(target=self._find, args=(name, told, find, of_files), daemon=True).start()
        told.made.wait(seconds)
        return told.at, told.what

    def _find(self, name: str, told: Told, find: Find, of_files: bool) -> None:
        with self._turn:
            began = self.clock()
            try:
                view = self.open()
                with closing(view.store), view.store.snapshot(), view.store.at_most(MOST_SECONDS):
                    version = view.store.version()
                    if of_files or version is None or version != told.version or began - told.found > STILL_SECONDS:
                        self._answer(told, find(view), view.now(), version)
                        told.found = self.clock()
                        told.took = told.found - began
                told.made.set()
            except (JimError, OSError) as error:
                log.error("%s cannot be computed: %s", name, error)
                told.took = self.clock() - began
            finally:
                told.ended, told.busy = self.clock(), False

    def _answer(self, told: Told, what: Any, at: str, version: int | None) -> None:
        self.news += told.what is None
        told.what, told.at, told.version = what, at, version

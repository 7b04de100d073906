"""Opens the store for pages: a lock holds up few requests, and a store that is gone is not taken for an empty one."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

from jim.errors import Away, Busy
from jim.reading.view import View
from jim.statusdb import file_of, is_there

LOCKED_SECONDS = 5.0


@dataclass
class Opening:
    """A way to open the store that fails at once for a while after it has failed because of a lock."""

    open: Callable[[], View]
    clock: Callable[[], float] = time.monotonic
    _failed: tuple[float, str] = field(default=(0.0, ""))  # until when, and in which words
    _seen: bool = False  # whether there was a store

    def __call__(self) -> View:
        """Open the store; raise `Busy` if it is locked, or was a moment ago, and `Away` if it has been removed."""
        until, words = self._failed
        if self.clock() < until:
            raise Busy(words)
        try:
            view = self.open()
        except Busy as error:
            self._failed = self.clock() + LOCKED_SECONDS, str(error)
            raise
        there = is_there(view.site.state)
        if self._seen and not there:
            with closing(view.store):
                raise Away(f"{file_of(view.site.state)} is not there any more. Check that its disk is mounted")
        self._seen = there
        return view

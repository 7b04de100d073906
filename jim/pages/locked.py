"""Opens the store for pages: while another program has locked the store, only one request in a while waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from jim.errors import Busy
from jim.reading.view import View

LOCKED_SECONDS = 5.0


@dataclass
class Opening:
    """A way to open the store that fails at once for a while after it has failed because of a lock."""

    open: Callable[[], View]
    clock: Callable[[], float] = time.monotonic
    _failed: tuple[float, str] = field(default=(0.0, ""))  # until when, and in which words

    def __call__(self) -> View:
        """Open the store; raise `Busy` if it is locked, or was a moment ago."""
        until, words = self._failed
        if self.clock() < until:
            raise Busy(words)
        try:
            return self.open()
        except Busy as error:
            self._failed = self.clock() + LOCKED_SECONDS, str(error)
            raise

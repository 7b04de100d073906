"""What takes long to find out: computed beside, at most every ten seconds, and shown with its age."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

from jim.errors import JimError
from jim.reading.site_view import WhatWaits, what_waits
from jim.reading.view import View

log = logging.getLogger(__name__)
EVERY_SECONDS = 10.0
FIRST_SECONDS = 1.5  # who asks first waits so long


@dataclass
class Lately:
    """What waits and why, of a while ago."""

    open: Callable[[], View]
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _made: threading.Event = field(default_factory=threading.Event)
    _busy: bool = False
    _at: float = 0.0
    _told: tuple[str, list[WhatWaits]] = ("", [])

    def get(self) -> tuple[str, list[WhatWaits]]:
        """Give what was found last, and when; find out anew where that is too long ago."""
        with self._lock:
            old = not self._made.is_set() or self.clock() - self._at > EVERY_SECONDS
            if old and not self._busy:
                self._busy = True
                threading.Thread(target=self._find, daemon=True).start()
        self._made.wait(FIRST_SECONDS)
        return self._told

    def _find(self) -> None:
        try:
            view = self.open()
            with closing(view.store), view.store.snapshot():
                self._told = view.now(), what_waits(view)
            self._made.set()
        except (JimError, OSError) as error:
            log.error("what waits cannot be told: %s", error)
        finally:
            self._at, self._busy = self.clock(), False

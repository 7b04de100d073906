"""Tells whether files have changed that a page shows beside what the store has: the logs of an unfinished local job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from jim.pages.live import FRESH_SECONDS
from jim.pages.watching import Moment, Watch
from jim.reading.view import Disk, View

MOST_KEPT = 1000
UNSEEN = "the file server does not answer"
Find = Callable[[View, int, int], Sequence[Path]]  # the files of a local job's page


class _Seen(NamedTuple):
    moment: str  # of the store, at which the files are these
    files: Sequence[Path]
    until: float
    mark: str


@dataclass
class Beside:
    """The last look at the files of each page, shared for a second by all requests."""

    open: Callable[[], View]
    disk: Disk
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _seen: dict[tuple[int, int], _Seen] = field(default_factory=dict)

    def at(
        self, watch: Watch, find: Find | None, number: int | None = None, n: int = 0, task: str = "", p: int = 0
    ) -> Moment | None:
        """Return the present moment of a page; None if only the whole page tells. Pages of tasks show the site's."""
        moment = watch.at(None if task else number)
        if moment is None or task or number is None or find is None:
            return moment
        return moment._replace(mark=f"{moment.mark} {self.mark(find, moment.mark, number, n)}")

    def mark(self, find: Find, moment: str, number: int, n: int) -> str:
        """Return a text that differs if the size or the time of a file differs."""
        with self._lock:
            seen = self._seen.get((number, n))
        if seen is None or seen.moment != moment:
            seen = _Seen(moment, self._found(find, number, n), 0.0, "")
        elif self.clock() <= seen.until:
            return seen.mark
        seen = seen._replace(until=self.clock() + FRESH_SECONDS, mark=self._looked(seen.files))
        with self._lock:
            if len(self._seen) >= MOST_KEPT:
                self._seen.clear()
            self._seen[number, n] = seen
        return seen.mark

    def _found(self, find: Find, number: int, n: int) -> Sequence[Path]:
        view = self.open()
        with closing(view.store):
            return find(view, number, n)

    def _looked(self, files: Sequence[Path]) -> str:
        try:
            return self.disk(lambda: " ".join(map(_about, files))) if files else ""
        except OSError:
            return UNSEEN


def _about(file: Path) -> str:
    with suppress(OSError):
        about = file.lstat()
        return f"{about.st_size} {about.st_mtime_ns}"
    return "-"

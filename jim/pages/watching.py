"""Tells, at the cost of one indexed SELECT a second, whether anything has changed that pages show."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from jim.clock import as_utc
from jim.pages import live
from jim.reading.heart import Heart
from jim.reading.site.site_view import health
from jim.reading.view import View


class Moment(NamedTuple):
    """The state of a grid job or of the site: pages with the same mark differ only in ages."""

    mark: str
    now: str
    keeper_seen: str
    batch_seen: str


class _Seen(NamedTuple):
    until: float
    version: int
    signs: str  # whether what is shown is up to date, and what lies in the inbox
    now: str
    keeper_seen: str
    batch_seen: str


@dataclass
class Watch:
    """The last look at the store, shared for a second by all requests."""

    open: Callable[[], View]
    answers: Callable[[], int]  # grows when a slow question is answered for the first time
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _seen: _Seen | None = None
    _versions: dict[int, int | None] = field(default_factory=dict)  # of grid jobs, at the last look

    def at(self, grid: int | None) -> Moment | None:
        """Return the present moment of a grid job, or of the site; None if only the whole page tells."""
        with self._lock:
            seen, version = self._look(), None
            if seen:
                version = seen.version if grid is None else self._version(grid)
        if seen is None or version is None:
            return None
        mark = f"{version} {seen.signs} {self.answers()} {live.this_minute()}"
        return Moment(mark, seen.now, seen.keeper_seen, seen.batch_seen)

    def _look(self) -> _Seen | None:
        if self._seen is None or self.clock() > self._seen.until:
            before, self._seen = self._seen, self._new()
            if before is None or self._seen is None or before.version != self._seen.version:
                self._versions.clear()
        return self._seen

    def _new(self) -> _Seen | None:
        view = self.open()
        with closing(view.store):
            version = view.store.version()
            if version is None:
                return None
            signs, now = health(view), view.now()
            left = 0
            with suppress(OSError):
                left = (view.site.state / "inbox").stat().st_mtime_ns
            told = f"{signs.heart.beats} {signs.heart.late} {signs.heart.next!r} {signs.unfinished} {bool(signs.seen)} "
            told += f"{signs.answers_late} {signs.trouble.words!r} {left}"
            beat = beat_of(view, signs.heart)
            return _Seen(self.clock() + live.FRESH_SECONDS, version, told, now, beat, signs.seen)

    def _version(self, grid: int) -> int | None:
        if grid not in self._versions:
            view = self.open()
            with closing(view.store):
                self._versions[grid] = view.store.version(grid)
        return self._versions[grid]


def beat_of(view: View, heart: Heart) -> str:
    """Return the time of the last heartbeat of a keeper that is there; empty: none is."""
    return as_utc(view.store.clock.epoch() - heart.age) if heart.beats and heart.age is not None else ""

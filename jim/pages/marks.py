"""Marks of moments: a page shows what is so now if its mark is the present one, at the cost of one look a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import NamedTuple

from jim.clock import as_utc
from jim.errors import Away, Busy
from jim.pages.laid_aside import FILE
from jim.reading.keeper_life import Heart
from jim.reading.site.site_view import health
from jim.reading.view import Disk, View
from jim.statusdb import file_of, is_there

LOOK_SECONDS = 1.0
MINUTE = 60  # a page is made anew so often, in case a change was overlooked
OFTEN = 10  # seconds, for a page of files in whose stead nothing tells of a change
LOCKED_SECONDS = 5.0
MOST_KEPT = 1000
UNSEEN = "the file server does not answer"
Find = Callable[[View], Sequence[Path]]  # the files that a page shows beside what the store has


class Moment(NamedTuple):
    """The state of a grid job or of the site: pages with the same mark differ in nothing that people look for."""

    mark: str
    now: str
    keeper_seen: str
    batch_seen: str


class _Look(NamedTuple):
    until: float
    version: int
    signs: str  # whether what is shown is up to date, and what lies in the inbox
    now: str
    keeper_seen: str
    batch_seen: str


class _Files(NamedTuple):
    moment: str  # of the store, at which the files are these
    files: Sequence[Path]
    until: float
    mark: str


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


@dataclass
class Marks:
    """The last look at the store, and at the files of each page, shared for a second by all requests."""

    open: Callable[[], View]
    disk: Disk
    clock: Callable[[], float] = time.monotonic
    time: Callable[[], float] = time.time
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _last: _Look | None = None
    _versions: dict[int, int | None] = field(default_factory=dict)  # of grid jobs, at the last look
    _files: dict[str, _Files] = field(default_factory=dict)

    def of(self, grid: int | None, seconds: int = MINUTE) -> Moment | None:
        """Return the present moment of a grid job, or of the site; None if only the whole page tells."""
        with self._lock:
            look, version = self._look(), None
            if look:
                version = look.version if grid is None else self._version(grid)
        if look is None or version is None:
            return None
        mark = f"{version} {look.signs} {self.minute(seconds)}"
        return Moment(mark, look.now, look.keeper_seen, look.batch_seen)

    def minute(self, seconds: int = MINUTE) -> int:
        """Return the number of this minute, or of another part of time."""
        return int(self.time() // seconds)

    def with_files(self, moment: Moment, page: str, find: Find) -> Moment:
        """Return the moment with a mark that also differs if the size or the time of a file of the page differs."""
        with self._lock:
            last = self._files.get(page)
        if last is None or last.moment != moment.mark:
            last = _Files(moment.mark, self._found(find), -inf, "")
        if self.clock() > last.until:
            last = last._replace(until=self.clock() + LOOK_SECONDS, mark=self._looked(last.files))
            with self._lock:
                if len(self._files) >= MOST_KEPT:
                    self._files.clear()
                self._files[page] = last
        return moment._replace(mark=f"{moment.mark} {last.mark}")

    def forget(self) -> None:
        """Look anew for the next request."""
        with self._lock:
            self._last = None
            self._files = {page: each._replace(until=-inf) for page, each in self._files.items()}

    def _look(self) -> _Look | None:
        if self._last is None or self.clock() > self._last.until:
            self._last = self._new()
            self._versions.clear()
        return self._last

    def _new(self) -> _Look | None:
        view = self.open()
        with closing(view.store):
            version = view.store.version()
            if version is None:
                return None
            signs, now = health(view), view.now()
            lying = " ".join(map(_changed, (view.site.state / "inbox", view.site.state / FILE)))
            heart = f"{signs.heart.beats} {signs.heart.late} {signs.heart.next!r}"
            batch = f"{signs.unfinished} {bool(signs.seen)} {signs.answers_late} {signs.trouble.words!r}"
            beat = beat_of(view, signs.heart)
            return _Look(self.clock() + LOOK_SECONDS, version, f"{heart} {batch} {lying}", now, beat, signs.seen)

    def _version(self, grid: int) -> int | None:
        if grid not in self._versions:
            view = self.open()
            with closing(view.store):
                self._versions[grid] = view.store.version(grid)
        return self._versions[grid]

    def _found(self, find: Find) -> Sequence[Path]:
        view = self.open()
        with closing(view.store):
            return find(view)

    def _looked(self, files: Sequence[Path]) -> str:
        try:
            return self.disk(lambda: " ".join(map(_about, files))) if files else ""
        except OSError:
            return UNSEEN


def beat_of(view: View, heart: Heart) -> str:
    """Return the time of the last heartbeat of a keeper that is there; empty: none is."""
    return as_utc(view.store.clock.epoch() - heart.age) if heart.beats and heart.age is not None else ""


def _changed(path: Path) -> str:
    """Return when a file or directory was changed; empty if it is not there."""
    with suppress(OSError):
        return str(path.stat().st_mtime_ns)
    return ""


def _about(file: Path) -> str:
    with suppress(OSError):
        about = file.lstat()
        return f"{about.st_size} {about.st_mtime_ns}"
    return "-"

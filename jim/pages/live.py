"""Saves work for repeated requests: one rendering per second for all viewers, and 304 if nothing has changed."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

HTML, JSON, CSV, XML, TEXT = (
    "text/html; charset=utf-8",
    "application/json",
    "text/csv; charset=utf-8",
    "application/xml",
    "text/plain; charset=utf-8",
)
FRESH_SECONDS, LONGEST_FRESH = 1.0, 5.0
SHARE = 0.02  # of a core: the most that one page may take, with any number of viewers
MOST_KEPT, MOST_BYTES = 100, 32 * 1024 * 1024
# Ages change all the time, so they do not count as changes: the browser updates them by itself.
AGES = re.compile(rb'<time datetime="([^"]*)"[^>]*>[^<]*</time>')
CLOCKED = re.compile(rb"<time\b[^>]* data-clock=[^>]*>[^<]*</time>")

SPANS = re.compile(rb"\b\d[\d.]* (?:s|min|h|d)\b")  # in sentences


@dataclass(frozen=True)
class Made:
    """A rendered page: its content, and the times of its data."""

    body: bytes
    kind: str
    now: str = ""
    keeper_seen: str = ""
    batch_seen: str = ""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    mark: str = ""  # of the moment that it shows, if that is known

    def tag(self, name: str) -> str:
        """Return the ETag of the content: the same while only ages change, for a minute at most."""
        if self.mark:
            return tag_of(name, self.mark)
        return hashlib.sha256(f"{name} {this_minute()} ".encode() + self._still).hexdigest()[:32]

    @cached_property
    def _still(self) -> bytes:
        """Return the digest of the content without ages."""
        body = self.body
        if self.kind.startswith("text/html"):
            body = SPANS.sub(b"", AGES.sub(rb"\1", CLOCKED.sub(b"", body)))
        return hashlib.sha256(body).digest()


def tag_of(name: str, mark: str) -> str:
    """Return the ETag of a page at a moment."""
    return hashlib.sha256(f"{name} {mark}".encode(errors="backslashreplace")).hexdigest()[:32]


def this_minute() -> int:
    """Return the number of this minute: pages are sent anew so often, in case a change was overlooked."""
    return int(time.time() // 60)


@dataclass
class Renderings:
    """The last renderings, each shared by simultaneous requests."""

    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _making: dict[str, threading.Lock] = field(default_factory=dict)
    cost: Callable[[], float] = time.thread_time
    _kept: dict[str, tuple[float, Made]] = field(default_factory=dict)  # with their expiry

    def get(self, name: str, make: Callable[[], Made], mark: str = "") -> Made:
        """Return a fresh rendering, made now if need be.

        One that took long to make stays fresh longer, and so does one of a moment that has not passed.
        """
        with self._lock:
            mine = self._making.setdefault(name, threading.Lock())
        with mine:
            until, made = self._kept.get(name, (0.0, None))
            more = LONGEST_FRESH - FRESH_SECONDS if made and mark and made.mark == mark else 0.0
            if made is None or self.clock() > until + more:
                began = self.cost()
                made = make()
                made = replace(made, mark=mark)
                self._keep(name, made, min(LONGEST_FRESH, max(FRESH_SECONDS, (self.cost() - began) / SHARE)))
        return made

    def _keep(self, name: str, made: Made, seconds: float) -> None:
        with self._lock:
            self._kept.pop(name, None)
            self._kept[name] = self.clock() + seconds, made
            size = sum(len(each.body) for _, each in self._kept.values())
            while len(self._kept) > MOST_KEPT or (size > MOST_BYTES and len(self._kept) > 1):
                oldest = next(iter(self._kept))
                size -= len(self._kept.pop(oldest)[1].body)
            for other in self._making.keys() - self._kept.keys() - {name}:
                if not self._making[other].locked():
                    del self._making[other]

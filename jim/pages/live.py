"""Pages that viewers ask for again and again: one rendering for all of a second, and 304 where nothing has changed."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

HTML, JSON, CSV, XML, TEXT = (
    "text/html; charset=utf-8",
    "application/json",
    "text/csv; charset=utf-8",
    "application/xml",
    "text/plain; charset=utf-8",
)
FRESH_SECONDS, LONGEST_FRESH = 1.0, 5.0
SHARE = 0.04  # of a core, which one page may take however many look at it
MOST_KEPT, MOST_BYTES = 100, 32 * 1024 * 1024
# What tells an age changes all the time: the browser counts it on by itself.
AGES = re.compile(rb'<time datetime="([^"]*)"[^>]*>[^<]*</time>')
CLOCKED = re.compile(rb"<time\b[^>]* data-clock=[^>]*>[^<]*</time>")

SPANS = re.compile(rb"\b\d[\d.]* (?:s|min|h|d)\b")  # in sentences


@dataclass(frozen=True)
class Made:
    """A page as it was made: what is sent, and what it rests on."""

    body: bytes
    kind: str
    now: str = ""
    keeper_seen: str = ""
    batch_seen: str = ""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()

    def tag(self, name: str) -> str:
        """Name this content: the same as long as nothing but ages has changed, for half a minute at most."""
        return hashlib.sha256(f"{name} {half_minute()} ".encode() + self._still).hexdigest()[:32]

    @cached_property
    def _still(self) -> bytes:
        """Give the digest of what does not change by itself."""
        body = self.body
        if self.kind.startswith("text/html"):
            body = SPANS.sub(b"", AGES.sub(rb"\1", CLOCKED.sub(b"", body)))
        return hashlib.sha256(body).digest()


def half_minute() -> int:
    """Give the number of this half minute: pages are sent anew as often, whatever may have been overlooked."""
    return int(time.time() // 30)


@dataclass
class Renderings:
    """The last renderings, each shared by those who ask for it at the same time."""

    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _making: dict[str, threading.Lock] = field(default_factory=dict)
    cost: Callable[[], float] = time.thread_time
    _kept: dict[str, tuple[float, Made]] = field(default_factory=dict)  # until when

    def get(self, name: str, make: Callable[[], Made]) -> Made:
        """Give a rendering of this second, or make one; one that took long to make is good for longer."""
        with self._lock:
            mine = self._making.setdefault(name, threading.Lock())
        with mine:
            until, made = self._kept.get(name, (0.0, None))
            if made is None or self.clock() > until:
                began = self.cost()
                made = make()
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

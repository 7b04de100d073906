"""What looks at a directory have seen. A file keeps that for the next keeper, as long as the machine runs on.

Without the file, or after a reboot, a look begins anew: files have to come to rest once more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from jim.files import replace

PART = 1000  # files


class Seen(NamedTuple):
    """A file as a listing shows it."""

    path: str
    size: int
    print: str  # inode and mtime: what tells that it has changed


@dataclass
class Memory:
    """What earlier looks at a directory have seen."""

    waiting: dict[str, tuple[Seen, float]] = field(default_factory=dict)  # files that are not taken, and since when so
    missing: dict[int, float] = field(default_factory=dict)  # items, and when a listing first lacked them
    ended: frozenset[str] = frozenset()  # groups whose end an earlier look has seen
    mtimes: tuple[int, int] = (-1, -2)  # of the directory at the last two listings
    listed: float = 0.0  # when the last one was, in seconds since boot
    noted: int = 0  # a hash of what was written last

    def recall(self, file: Path, boot: str) -> None:
        """Take over what a keeper before has noted in this run of the machine; what makes no sense is forgotten."""
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            head, *parts = map(json.loads, file.read_bytes().splitlines())
            waiting = {path: (Seen(path, *seen), float(first)) for some in parts for path, seen, first in some}
            missing = {int(number): float(first) for number, first in head["missing"].items()}
            if head["boot"] == boot:
                self.ended, self.waiting, self.missing = frozenset(head["ended"]), waiting, missing

    def _parts(self, boot: str) -> Iterator[Any]:
        """Yield what is worth noting, in parts: no other thread runs while one is being written as JSON."""
        if self.waiting or self.missing or self.ended:
            yield {"boot": boot, "missing": self.missing, "ended": sorted(self.ended)}
        waiting = iter(self.waiting.items())
        while some := [(path, seen[1:], first) for path, (seen, first) in islice(waiting, PART)]:
            yield some

    def note(self, file: Path, boot: str) -> None:
        """Write down what the next keeper needs, if it has changed; what cannot be written is forgotten."""
        text = "\n".join(map(json.dumps, self._parts(boot)))
        if hash(text) == self.noted:
            return
        try:
            if text:
                replace(file, text.encode())
            else:
                file.unlink(missing_ok=True)
            self.noted = hash(text)
        except OSError:
            with suppress(OSError):
                file.unlink()

"""Puts aside what no wrapper can have written, for people to look at. Of a flood it keeps what came first.

Payloads can write into the spool. So neither the directory nor the log may grow with what they put there.
"""

from __future__ import annotations

import logging
import math
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path

from jim.errand import Errand
from jim.errors import JimError
from jim.files import cut, held, read_regular, replace
from jim.files.trees import remove_tree

log = logging.getLogger(__name__)
MOST, TOLD_SECONDS = 1000, 60.0
LONGEST_NUMBER = 100  # bytes
REMOVED, FLOOD = ".removed", ".flood"  # in rejected/: how many were removed; directories that are to go
Start = Callable[[Errand[None]], object]


class Why(StrEnum):
    """What is wrong with a file in the spool."""

    NAME = "is not a valid report of a wrapper"
    CONTENT = "makes no sense"
    PUBLICATION = "is a publication against the rules"
    STAYS = "is not a valid report of a wrapper, and cannot be moved away"


@dataclass
class _Told:
    """What was said about files with one fault."""

    at: float = -math.inf
    since: int = 0  # files that nobody was told of
    last: str = ""


@dataclass
class Rejected:
    """The directory `rejected/` of a work directory, and what was said about it."""

    _there: int | None = None
    _counted: float = -math.inf
    _removed: int = 0  # files since the number of them was written
    _told: dict[Why, _Told] = field(default_factory=dict)

    def put_aside(self, work: Path, path: Path, start: Start) -> bool:
        """Move a file out of the spool, or remove it if enough are there; a directory goes by an errand."""
        with held(path.parent) as spool, held(work / "rejected") as place:
            return self._put_aside(spool / path.name, place, partial(_remove_flood, work), start)

    def _put_aside(self, path: Path, place: Path, remove: Callable[[], None], start: Start) -> bool:
        if self._has_room(place):
            self._move(path, place)
            self._there = (self._there or 0) + 1
            return True
        if stat.S_ISDIR(path.lstat().st_mode):
            (place / FLOOD).mkdir(exist_ok=True)
            self._move(path, place / FLOOD)
            start(Errand(("rejected", FLOOD), remove, lambda _: None))
        else:
            path.unlink()
        self._removed += 1
        return False

    def _has_room(self, place: Path) -> bool:
        if self._there is None:
            self._there = sum(not name.startswith(".") for name in os.listdir(place))  # noqa: PTH208 - names suffice
        return self._there < MOST

    @staticmethod
    def _move(path: Path, place: Path) -> None:
        with suppress(NotADirectoryError):
            descriptor = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                Path(f"/proc/self/fd/{descriptor}").chmod(0o700)  # one without permissions cannot be moved
            finally:
                os.close(descriptor)
        path.rename(place / f"{os.urandom(4).hex()}-{cut(path.name)}")

    def note(self, why: Why, name: str, words: str, now: float) -> None:
        """Warn of a file, or only count it, if a warning of the same kind is younger than a minute."""
        counted = self._told.setdefault(why, _Told())
        counted.since, counted.last = counted.since + 1, f"{name!r} {why}{f': {words}' if words else ''}"
        if now - counted.at >= TOLD_SECONDS:
            _warn(counted, now)

    def tell(self, work: Path, now: float) -> None:
        """Once a minute, warn of what was only counted, and count what is there: people may have cleaned up."""
        for counted in self._told.values():
            if counted.since and now - counted.at >= TOLD_SECONDS:
                _warn(counted, now)
        if now - self._counted >= TOLD_SECONDS:
            self._there, self._counted = None, now
            if self._removed:
                _count(work / "rejected" / REMOVED, self._removed)
                self._removed = 0


def _remove_flood(work: Path) -> None:
    with held(work / "rejected") as place, suppress(OSError):
        remove_tree(place / FLOOD)


def _warn(counted: _Told, now: float) -> None:
    more = f"; {counted.since - 1:,} more files like this since the last warning" if counted.since > 1 else ""
    log.warning("spool: %s%s; rejected/ in the work directory keeps the first %d", counted.last, more, MOST)
    counted.at, counted.since = now, 0


def _count(file: Path, more: int) -> None:
    """Add to the number of files that were removed."""
    with suppress(OSError):  # only people read it
        replace(file, f"{removed(file) + more}\n".encode())


def removed(file: Path) -> int:
    """Return how many files were removed."""
    with suppress(OSError, ValueError, JimError):
        return int(read_regular(file, LONGEST_NUMBER))
    return 0

"""Reads what the accounts of a site publish of themselves: only regular files, and each for a limited time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from jim.clock import Clock, age_seconds
from jim.doors.inbox import account as own_name
from jim.errors import JimError
from jim.model import NOTHING, State
from jim.reading.site.summaries import ODD, summary
from jim.reading.slow_disks import Patience
from jim.site.file import Site

READ_SECONDS = 2.0
AGAIN_SECONDS = 2.0
NO_COUNTS: Mapping[State, int] = MappingProxyType({})
Version = tuple[int, int, int]  # of a file


class Account(NamedTuple):
    """What an account publishes: its unfinished grid jobs by status, and their local jobs by state."""

    name: str
    at: str = ""  # when the keeper wrote it; a keeper writes after a change
    seen: str = ""  # when the batch system had given a good answer by then
    trouble: str = ""
    grid_jobs: Mapping[str, int] = NOTHING
    counts: Mapping[State, int] = NO_COUNTS
    problem: str = ""  # why nothing is known

    @property
    def is_in_trouble(self) -> bool:
        """Tell whether someone should look: it cannot be read, the batch system fails, or local jobs have failed."""
        return bool(self.problem or self.trouble or self.counts.get(State.FAILED))


def published(site: Site, own: Path) -> Iterator[Path]:
    """Return the path of a published file, for each account of a managed site; elsewhere for this account only."""
    if not site.managed:
        yield own
        return
    places = own.parent.parent
    for place in sorted(places.iterdir()) if places.is_dir() else ():  # also those that this account may not read
        if place.is_dir() and not place.is_symlink():
            yield place / own.name


class Accounts:
    """The accounts of a site; a file that has not changed is not read again."""

    def __init__(self, site: Site, clock: Callable[[], str] | None = None) -> None:
        self.site, self._now = site, clock or Clock().utc
        self._lock, self._kept = threading.Lock(), dict[Path, tuple[Version, Account]]()
        self._disks: dict[Path, Patience] = {}

    def now(self) -> str:
        """Return the time."""
        return self._now()

    def age(self, then: str) -> float:
        """Return how many seconds ago something happened."""
        return age_seconds(then, self._now())

    def all(self) -> list[Account]:
        """Return all accounts by name, without those that have published nothing yet."""
        with self._lock:
            found = [self._one(file) for file in published(self.site, self.site.summary)]
        return [each for each in found if each is not None]

    def _one(self, file: Path) -> Account | None:
        name = file.parent.name if self.site.managed else own_name()
        disk = self._disks.setdefault(file, Patience(READ_SECONDS))  # one that hangs holds up no other
        try:
            version, known = disk(partial(_version, file)), self._kept.get(file)
            if known is None or known[0] != version:
                known = self._kept[file] = version, disk(partial(_account, name, file))
            return known[1]
        except FileNotFoundError:  # an account without grid jobs
            return None
        except (OSError, JimError) as error:
            return Account(name, problem=str(error))


def _version(file: Path) -> Version:
    about = file.lstat()
    return about.st_ino, about.st_size, about.st_mtime_ns


def _account(name: str, file: Path) -> Account:
    """Read what an account publishes; whatever stands in the file, the others are shown."""
    try:
        told = summary(file)
    except OSError:
        raise
    except ODD as error:
        return Account(name, problem=f"what it publishes cannot be read: {str(error)[:200]}")
    return Account(name, told.at, told.seen, told.trouble, told.grid_jobs, told.counts)

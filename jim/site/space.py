"""How much room the disks of state and work directory have, and what a site does below its thresholds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from jim.errors import JimError
from jim.site.file import Site

STOPS = "JIM takes no new grid jobs and sends nothing"


class NoRoom(JimError):
    """A new grid job for which the disks have too little room."""


class Shortage(NamedTuple):
    """A disk with less room than the site wants: whether JIM takes and sends nothing new, and this in words."""

    stops: bool
    words: str


def shortages(site: Site) -> list[Shortage]:
    """Return the disks below a threshold. This asks the file server of the work directory, which may hang."""
    return [each for each in (shortage(site, "state", site.state), shortage(site, "work", site.work)) if each]


def shortage(site: Site, name: str, place: Path) -> Shortage | None:
    """Return what is wrong with the room in the state or the work directory; None: it has enough."""
    place, thresholds = _there(place), site.disk._asdict()
    free, warn, stop = free_mb(place), thresholds[f"{name}_warn_mb"], thresholds[f"{name}_stop_mb"]
    left = f"the disk of the {name} directory {place} has {free:,} MB left, and disk.{name}"
    if free < stop:
        return Shortage(True, f"{left}_stop_mb is {stop:,}: {STOPS} until there is room; what runs goes on")
    then = f": below {stop:,} MB {STOPS}" if stop else ""
    return Shortage(False, f"{left}_warn_mb is {warn:,}{then}") if free < warn else None


def _there(place: Path) -> Path:
    """Return a directory, or the one in which it is still to be made."""
    return next(each for each in (place, *place.parents) if each.exists())


def room(place: Path) -> tuple[int, int]:
    """Return how much an account may still write on the disk of a directory, and the size of the disk, in bytes."""
    about = os.statvfs(_there(place))
    return about.f_bavail * about.f_frsize, about.f_blocks * about.f_frsize


def require_room(site: Site) -> None:
    """Refuse a new grid job if a disk has too little room."""
    if stopping := [each.words for each in shortages(site) if each.stops]:
        raise NoRoom("; ".join(stopping))


def free_mb(place: Path) -> int:
    """Return how much an account may still write on the disk of a directory, in MB."""
    about = os.statvfs(place)
    return about.f_bavail * about.f_frsize // 10**6

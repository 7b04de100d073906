"""Reads the state of a site: its last test and check, its limits, the room on its disks, and files left for people."""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jim import __version__
from jim.doors import untaken_files
from jim.errors import BadRequest, JimError
from jim.files import read_regular
from jim.model import Step
from jim.reading.site.summaries import ODD, moment
from jim.reading.view import View
from jim.site import drain, space
from jim.site.settings import settings
from jim.workdir import credentials

LONGEST = 4 * 1024 * 1024
REMOVED, LONGEST_NUMBER = ".removed", 20  # the keeper counts there what it has removed of a flood
SOON_HOURS = 12
MOST_ENDING = 50
LEVELS = ("failed", "warning", "skipped", "ok")
SHOWN = ("limits", "sizing", "keep", "disk")  # sections of the site file
STEPS = (Step.ACCEPTED, Step.RESOLVED, Step.SPLIT, Step.ACTIVE)


@dataclass(frozen=True, slots=True)
class Report:
    """The stored result of `jim site test` or `jim site check`."""

    at: str
    line: str  # the summary; empty for a check
    checks: Sequence[Mapping[str, str]]  # failures first

    def count(self, level: str) -> int:
        """Count the findings of a level."""
        return sum(each["level"] == level for each in self.checks)


@dataclass(frozen=True, slots=True)
class Room:
    """The free room on the disk of a directory, or why it is not known."""

    name: str
    path: str
    free: int = 0
    size: int = 0
    unknown: str = ""
    short: str = ""  # that it has less than the site wants


@dataclass(frozen=True, slots=True)
class Ending:
    """A proxy or token that ends soon, and the grid job that needs it."""

    grid: int
    kind: str
    path: str
    end: str
    ended: bool


@dataclass(frozen=True, slots=True)
class Found:
    """What takes a look at files to find out."""

    rooms: Sequence[Room]
    rejected: int | None  # files of wrappers that make no sense; None: the directory cannot be read
    put_aside: int  # damaged requests and wishes
    barred: int  # requests and wishes that this account may not read
    ending: Sequence[Ending]


def report(view: View, file: Path) -> Report | None:
    """Return the last result in a file; None if there is none that can be read."""
    with suppress(*ODD):
        told = json.loads(read_regular(file, LONGEST))
        at = moment(told["at"])
        checks = [{name: str(value) for name, value in each.items()} for each in told["checks"]]
        checks.sort(key=lambda each: LEVELS.index(each["level"]))
        return Report(at, str(told.get("line", "")), checks)
    return None


def look_around(view: View) -> Found:
    """Find out what only files say."""
    rejected = None
    with suppress(OSError):
        rejected = view.disk(lambda: _rejected(view.site.work / "rejected"))
    aside, barred = len(untaken_files.aside(view.site.state)), len(untaken_files.barred(view.site.state))
    places = {"state": view.site.state, "work": view.site.work}
    rooms = [_room(view, name, place) for name, place in places.items()]
    return Found(rooms, rejected, aside, barred, sorted(ending(view), key=lambda each: each.end)[:MOST_ENDING])


def _rejected(place: Path) -> int:
    """Return how many files of wrappers made no sense: those that are there, and those that were removed."""
    there = sum(not name.startswith(".") for name in os.listdir(place))  # noqa: PTH208 - names suffice
    with suppress(OSError, ValueError, JimError):
        return there + int(read_regular(place / REMOVED, LONGEST_NUMBER))
    return there


def _room(view: View, name: str, place: Path) -> Room:
    try:
        about, short = view.disk(lambda: (shutil.disk_usage(place), space.shortage(view.site, name, place)))
    except OSError as error:
        return Room(f"{name} directory", str(place), unknown=error.strerror or str(error))
    return Room(f"{name} directory", str(place), about.free, about.total, short=short.words if short else "")


def ending(view: View) -> Iterator[Ending]:
    """Return the credentials of unfinished grid jobs that have ended, or end soon."""
    now, ends = view.store.clock.epoch(), dict[tuple[str, str], float | None]()  # many grid jobs may share one
    for job in view.store.grid_jobs(*STEPS):
        for credential in credentials.paths_in(job.request).items():
            if credential not in ends:
                ends[credential] = _end(view, *credential)
            end = ends[credential]
            if end is not None and end < now + SOON_HOURS * 3600:
                yield Ending(
                    job.id, credentials.KINDS[credential[0]], credential[1], credentials.shown_time(end), end <= now
                )


def _end(view: View, kind: str, path: str) -> float | None:
    with suppress(BadRequest, OSError):
        return view.disk(lambda: credentials.ends(kind, credentials.content_of(kind, path)))
    return None


def drained(view: View) -> str:
    """Tell why the site takes no new grid jobs; empty while it takes them."""
    return drain.in_words(view.site)


def versions() -> dict[str, str]:
    """Return the versions of JIM and of what it runs on."""
    return {"JIM": __version__, "Python": platform.python_version(), "System": platform.platform(terse=True)}


def limits(view: View) -> dict[str, list[tuple[str, str, Any]]]:
    """Return the settings that limit grid jobs: by section, each with its meaning and value."""
    return {
        section: [
            (name, declared.rule.help, getattr(getattr(view.site, section), name))
            for name, declared in settings(section).items()
        ]
        for section in SHOWN
    }

"""The event files that GRAM's job managers read instead of polling, one file for each day.

A door stores the description of each job in `STATE/gram/new`. The keeper moves the description to `STATE/gram`, where
it stays until the job's last event is written.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jim import request
from jim.doors import inbox
from jim.doors.gram import protocol
from jim.errors import BadSite
from jim.files import append_whole, replace_durably

if TYPE_CHECKING:
    from jim.clock import Clock

DAY = 86_400
NEW = "new"
# If the file of a day is missing, job managers look again only after 30 s. A keeper that ends for want of work makes no
# files, so files are made for some days ahead.
DAYS_AHEAD = 30
READABLE = 0o644  # job managers read these files
A_DAY = "[0-9]" * 8  # pattern of the name of a day's file


class Event(NamedTuple):
    """The contents of a line, without the time."""

    job: int
    state: int
    exit_code: int = 0


# Used by the door


def expect(state: Path, directory: Path, key: str, file: Path) -> None:
    """Store a job's description for the keeper; refuse the job if its events could not be written."""
    if not protocol.is_description(request.read(file)):
        return
    if not os.access(directory, os.W_OK | os.X_OK):
        raise BadSite(f"site.gram_events: cannot write into {directory}; run `jim gram check`")
    place = state / "gram"
    place.mkdir(mode=0o700, exist_ok=True)
    (place / NEW).mkdir(mode=0o700, exist_ok=True)
    replace_durably(place / NEW / inbox.request_name(key), file.read_bytes())


# Used by the keeper


def file_of(directory: Path, seconds: float) -> Path:
    """Return the file of a day, in UTC."""
    return directory / time.strftime("%Y%m%d", time.gmtime(seconds))


def make_days(directory: Path, now: float, keep_days: float = 30.0) -> None:
    """Make the files of today and of some days ahead, and remove old ones."""
    if file_of(directory, now + DAYS_AHEAD * DAY).exists() and file_of(directory, now).exists():
        return
    for ahead in range(DAYS_AHEAD + 1):
        append_whole(file_of(directory, now + ahead * DAY), b"", READABLE)
    oldest = file_of(directory, now - max(keep_days, 1) * DAY).name
    for file in directory.glob(A_DAY):
        if file.name < oldest:
            file.unlink()


def append(directory: Path, clock: Clock, events: list[Event]) -> None:
    """Append events to the file of this day.

    After midnight, readers go on to the next file and skip lines of the day before. Events that were late are therefore
    written again with the new day; reading an event twice does no harm.
    """
    written: set[Path] = set()
    while events and (file := file_of(directory, now := clock.epoch())) not in written:
        append_whole(file, b"".join(b"1;%d;%d;%d;%d\n" % (now, *each) for each in events), READABLE)
        written.add(file)

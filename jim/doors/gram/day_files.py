"""The lines that GRAM's job managers read where they do not poll, in a file for each day.

A door leaves the description of each job in `STATE/gram`; it lies there until the job's last event is told.
"""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jim import request
from jim.doors import inbox
from jim.doors.gram import protocol
from jim.errors import BadSite
from jim.files import replace_durably

if TYPE_CHECKING:
    from jim.clock import Clock

log = logging.getLogger(__name__)
DAY = 86_400
# Where the file of a day is missing, job managers look again only after 30 s; a keeper that has no work makes none.
DAYS_AHEAD = 30
A_DAY = "[0-9]" * 8  # what the file of a day is called


class Event(NamedTuple):
    """What a line says, but for the time."""

    job: int
    state: int
    exit_code: int = 0


# The door's part


def expect(state: Path, directory: Path, key: str, file: Path) -> None:
    """Keep a job's description for the keeper; refuse a job whose events could not be told."""
    if not protocol.is_description(request.read(file)):
        return
    if not os.access(directory, os.W_OK | os.X_OK):
        raise BadSite(f"site.gram_events: cannot write into {directory}; run `jim gram check`")
    place = state / "gram"
    place.mkdir(mode=0o700, exist_ok=True)
    replace_durably(place / inbox.request_name(key), file.read_bytes())


# The files


def file_of(directory: Path, seconds: float) -> Path:
    """Name the file of a day, in UTC."""
    return directory / time.strftime("%Y%m%d", time.gmtime(seconds))


def make_days(directory: Path, now: float, keep_days: float = 30.0) -> None:
    """Make the files of today and of some days to come, and remove those whose time is over."""
    if file_of(directory, now + DAYS_AHEAD * DAY).exists() and file_of(directory, now).exists():
        return
    for ahead in range(DAYS_AHEAD + 1):
        os.close(_open(file_of(directory, now + ahead * DAY)))
    oldest = file_of(directory, now - max(keep_days, 1) * DAY).name
    for file in directory.glob(A_DAY):
        if file.name < oldest:
            file.unlink()


def _open(file: Path) -> int:
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    os.fchmod(descriptor, 0o644)  # job managers read it
    return descriptor


def append(directory: Path, clock: Clock, events: list[Event]) -> None:
    """Append events to the file of this day.

    When the day is over, readers go on to the next file, and there they pass over what is of the day before. So events
    that midnight has overtaken are told again, of the new day; to hear one twice does no harm.
    """
    told: set[Path] = set()
    while events and (file := file_of(directory, now := clock.epoch())) not in told:
        _append_whole(file, b"".join(b"1;%d;%d;%d;%d\n" % (now, *each) for each in events))
        told.add(file)


def _append_whole(file: Path, lines: bytes) -> None:
    """Append whole lines that outlive a power cut, or nothing: at half a line readers would stay for ever."""
    descriptor = _open(file)
    try:
        size = _whole(descriptor)
        if os.write(descriptor, lines) != len(lines):
            os.ftruncate(descriptor, size)
            raise OSError(f"no room in {file.parent}")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _whole(descriptor: int) -> int:
    """Cut off half a line that an end in the middle of writing has left; return the size then."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        size = os.pread(descriptor, size, 0).rfind(b"\n") + 1
        os.ftruncate(descriptor, size)
    return size

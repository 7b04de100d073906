"""Telling GRAM how its jobs are where it does not poll: lines in a file for each day, which its job managers read.

A door leaves the description of each job in `STATE/gram`; it lies there until the job's last event is told. Nobody
asks for results then, so they are delivered before that event.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jim import request
from jim.doors import inbox
from jim.doors.gram import protocol
from jim.doors.gram.request import Description, one
from jim.doors.gram.results import UNCHANGED, deliver
from jim.errors import BadSite, JimError, UnknownJob
from jim.evidence.exit_record import read_exit_record
from jim.files import read_regular, replace_durably
from jim.model import State

if TYPE_CHECKING:
    from jim.clock import Clock
    from jim.keeper.keeper import House  # a door needs none of what it loads

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


# The keeper's part


def tell(house: House) -> None:
    """Append the states that job managers have not been told yet."""
    if not house.site.site.gram_events:
        return
    directory, events = Path(house.site.site.gram_events), []
    try:
        make_days(directory, house.clock.epoch(), house.site.keep.finished_days)
        for file, number in list(_untold(house)):
            answer = house.answered.get(number) or _answer(house, file, number)
            if protocol.final_state(answer) is not None:
                _end(house, file, number)
            elif answer != house.told_gram.get(number):
                events += [
                    Event(number, each)
                    for each in (protocol.PENDING, protocol.ACTIVE)
                    if answer == protocol.state(each)
                ]
                house.told_gram[number] = answer
        _append(directory, house.clock, events)
    except OSError as error:  # jobs go on, whether or not somebody hears of it
        house.told_gram.clear()
        if house.pace("gram events"):
            log.error("GRAM cannot be told how its jobs are: %s", error)


def _answer(house: House, file: Path, number: int) -> bytes:
    """Read what polls print; a job whose time was over needs no events any more."""
    try:
        return inbox.answer(house.site.state, number)
    except UnknownJob:
        _forget(house, file, number)
        return b""


def _forget(house: House, file: Path, number: int) -> None:
    file.unlink(missing_ok=True)
    house.paced.pop(("gram", number), None)
    house.told_gram.pop(number, None)
    house.gram_jobs.pop(file.name, None)


def _untold(house: House) -> Iterator[tuple[Path, int]]:
    """Give the descriptions of jobs whose last event was not told yet, and their numbers."""
    with suppress(FileNotFoundError):
        for entry in os.scandir(house.site.state / "gram"):
            if not entry.name.startswith("."):
                number = house.gram_jobs.get(entry.name) or _number_of(house, entry.name)
                if number:
                    house.gram_jobs[entry.name] = number
                    yield Path(entry.path), number


def _number_of(house: House, name: str) -> int:
    """Look up a job by its key; one that was not handed in after all is forgotten after a day."""
    with suppress(FileNotFoundError):
        return int(json.loads(read_regular(house.site.state / "keys" / name, inbox.LONGEST))["id"])
    file = house.site.state / "gram" / name
    if not (house.site.state / "inbox" / name).exists() and time.time() - file.stat().st_mtime > DAY:
        file.unlink()
    return 0


def _end(house: House, file: Path, number: int) -> None:
    """Deliver the results of a job that has ended, in a worker, and tell its last event."""
    name = ("gram", number)
    if house.workers.busy(name) or not house.pace(name):
        return
    description: Description = json.loads(file.read_bytes())
    house.workers.start(
        name,
        partial(deliver, house.site.state, number, description),
        partial(_ended, house, file, number, one(description, "jobdir")),
        partial(_not_delivered, number),
    )


def _ended(house: House, file: Path, number: int, jobdir: str, said: bytes) -> None:
    if said == UNCHANGED and Path(jobdir).exists():  # a full disk: what GRAM has forgotten needs nothing any more
        return
    with suppress(UnknownJob):
        exited = protocol.final_state(said) == protocol.DONE or protocol.is_failure(said, protocol.EXECUTION_FAILED)
        event = Event(number, protocol.DONE, exit_code(house, number)) if exited else Event(number, protocol.FAILED)
        _append(Path(house.site.site.gram_events), house.clock, [event])
    _forget(house, file, number)


def _not_delivered(number: int, error: BaseException) -> None:
    if not isinstance(error, JimError | OSError):
        raise error
    log.warning("%d: its results cannot be delivered, will be tried again: %s", number, error)


def exit_code(house: House, number: int) -> int:
    """Say how a grid job exited: a single program as it did itself, any other with 1 if not all is well."""
    job = house.store.grid_job(number)
    if job.outcome == State.COMPLETED.value:
        return 0
    attempts = house.store.attempts(number, n=0) if job.size == 1 else []
    if not attempts or not attempts[-1].record:
        return 1
    record = read_exit_record(attempts[-1].record)
    return 128 + record.signal if record.signal else record.code or 1


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


def _append(directory: Path, clock: Clock, events: list[Event]) -> None:
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

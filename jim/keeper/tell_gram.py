"""The move that tells GRAM how its jobs are where it does not poll; results are delivered before the last line."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from jim.doors import inbox
from jim.doors.gram import day_files, protocol
from jim.doors.gram.request import Description, one
from jim.doors.gram.results import UNCHANGED, deliver
from jim.errors import JimError, UnknownJob
from jim.evidence.exit_record import read_exit_record
from jim.files import read_regular
from jim.keeper.keeper import House
from jim.model import State

log = logging.getLogger(__name__)


def tell(house: House) -> None:
    """Append the states that job managers have not been told yet."""
    if not house.site.site.gram_events:
        return
    directory, events = Path(house.site.site.gram_events), []
    try:
        day_files.make_days(directory, house.clock.epoch(), house.site.keep.finished_days)
        for file, number in list(_untold(house)):
            answer = house.answered.get(number) or _answer(house, file, number)
            if protocol.final_state(answer) is not None:
                _end(house, file, number)
            elif answer != house.told_gram.get(number):
                events += [
                    day_files.Event(number, each)
                    for each in (protocol.PENDING, protocol.ACTIVE)
                    if answer == protocol.state(each)
                ]
                house.told_gram[number] = answer
        day_files.append(directory, house.clock, events)
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
    if not (house.site.state / "inbox" / name).exists() and time.time() - file.stat().st_mtime > day_files.DAY:
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
        event = (
            day_files.Event(number, protocol.DONE, exit_code(house, number))
            if exited
            else day_files.Event(number, protocol.FAILED)
        )
        day_files.append(Path(house.site.site.gram_events), house.clock, [event])
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

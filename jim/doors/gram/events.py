"""Writes events for GRAM where it does not poll; the results of a job are delivered before its last event."""

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
from jim.doors.keeping import Keeper
from jim.errand import Errand
from jim.errors import UnknownJob
from jim.files import read_regular
from jim.statusdb.record import exit_code

log = logging.getLogger(__name__)


class Events:
    """What the keeper remembers of written events. If this memory is lost, some are written again, none is missed."""

    def __init__(self) -> None:
        self.jobs: dict[str, int] = {}  # jobs whose last event is not written yet, by the file name of their key
        self.told: dict[int, bytes] = {}

    def tell(self, keeper: Keeper) -> None:
        """Append the states that job managers have not read yet."""
        directory, events = Path(keeper.site.site.gram_events), []
        try:
            day_files.make_days(directory, keeper.clock.epoch(), keeper.site.keep.finished_days)
            for file, number in list(self._untold(keeper)):
                answer = keeper.answered.get(number) or self._answer(keeper, file, number)
                if protocol.final_state(answer) is not None:
                    self._end(keeper, file, number)
                elif answer != self.told.get(number):
                    events += [
                        day_files.Event(number, each)
                        for each in (protocol.PENDING, protocol.ACTIVE)
                        if answer == protocol.state(each)
                    ]
                    self.told[number] = answer
            day_files.append(directory, keeper.clock, events)
        except OSError as error:  # a failure here must not stop jobs
            self.told.clear()
            if keeper.workers.pace("gram events"):
                log.error("cannot write events for GRAM: %s", error)

    def _answer(self, keeper: Keeper, file: Path, number: int) -> bytes:
        """Read the answer of a poll; a job that JIM has removed needs no events any more."""
        try:
            return inbox.answer(keeper.site.state, number)
        except UnknownJob:
            self._forget(keeper, file, number)
            return b""

    def _forget(self, keeper: Keeper, file: Path, number: int) -> None:
        file.unlink(missing_ok=True)
        keeper.workers.forget(("gram", number))
        self.told.pop(number, None)
        self.jobs.pop(file.name, None)

    def _untold(self, keeper: Keeper) -> Iterator[tuple[Path, int]]:
        """Return the descriptions of jobs whose last event is not written yet, and their numbers."""
        with suppress(FileNotFoundError):
            for entry in os.scandir(keeper.site.state / "gram"):
                if not entry.name.startswith("."):
                    number = self.jobs.get(entry.name) or _number_of(keeper, entry.name)
                    if number:
                        self.jobs[entry.name] = number
                        yield Path(entry.path), number

    def _end(self, keeper: Keeper, file: Path, number: int) -> None:
        """Deliver the results of a job that has ended, in a worker thread, then write its last event."""
        description: Description = json.loads(file.read_bytes())
        work = partial(deliver, keeper.site.state, number, description)
        done = partial(self._ended, keeper, file, number, one(description, "jobdir"))
        keeper.workers.start(Errand(("gram", number), work, done, partial(_not_delivered, number), repeats=True))

    def _ended(self, keeper: Keeper, file: Path, number: int, jobdir: str, said: bytes) -> None:
        # The disk is full: for a job that GRAM has forgotten, nothing more is needed.
        if said == UNCHANGED and Path(jobdir).exists():
            return
        with suppress(UnknownJob):
            exited = protocol.final_state(said) == protocol.DONE or protocol.is_failure(said, protocol.EXECUTION_FAILED)
            event = (
                day_files.Event(number, protocol.DONE, exit_code(keeper.store, keeper.store.grid_job(number)))
                if exited
                else day_files.Event(number, protocol.FAILED)
            )
            day_files.append(Path(keeper.site.site.gram_events), keeper.clock, [event])
        self._forget(keeper, file, number)


def _number_of(keeper: Keeper, name: str) -> int:
    """Look up a job by its key; forget a description after a day if its job was never submitted."""
    with suppress(FileNotFoundError):
        return int(json.loads(read_regular(keeper.site.state / "keys" / name, inbox.LONGEST))["id"])
    file = keeper.site.state / "gram" / name
    if not (keeper.site.state / "inbox" / name).exists() and time.time() - file.stat().st_mtime > day_files.DAY:
        file.unlink()
    return 0


def _not_delivered(number: int, error: BaseException) -> None:
    log.warning("grid job %d: cannot deliver the results, will try again: %s", number, error)

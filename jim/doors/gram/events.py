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
from jim.doors.gram.day_files import NEW
from jim.doors.gram.request import Description, one
from jim.doors.gram.results import UNCHANGED, deliver
from jim.doors.keeping import Keeper
from jim.errand import Errand
from jim.errors import UnknownJob
from jim.files import read_regular
from jim.statusdb.seen.record import exit_code

log = logging.getLogger(__name__)


AT_ONCE = 200  # descriptions, after a start: each names its grid job in a file


class Events:
    """What the keeper remembers of written events. If this memory is lost, some are written again, none is missed."""

    def __init__(self) -> None:
        self.jobs: dict[int, str] = {}  # those whose last event is not written yet, with the file name of their key
        self.told: dict[int, bytes] = {}
        self._ending: set[int] = set()  # jobs that have ended, while their results are being delivered
        self._left: list[str] | None = None  # descriptions from before this memory began

    def all_told(self) -> bool:
        """Tell whether no last event is left to be written."""
        return not (self.jobs or self._left)

    def tell(self, keeper: Keeper) -> None:
        """Append the states that job managers have not read yet."""
        directory = Path(keeper.site.site.gram_events)
        try:
            day_files.make_days(directory, keeper.clock.epoch(), keeper.site.keep.finished_days)
            events = [each for number in self._to_look_at(keeper) for each in self._of(keeper, number)]
            day_files.append(directory, keeper.clock, events)
        except OSError as error:  # a failure here must not stop jobs
            self.told.clear()
            self._left = None  # look at all of them again
            if keeper.workers.pace("gram events"):
                log.error("cannot write events for GRAM: %s", error)

    def _of(self, keeper: Keeper, number: int) -> list[day_files.Event]:
        """Return what is to be told of a job now; begin to deliver the results of one that has ended."""
        file = keeper.site.state / "gram" / self.jobs[number]
        answer = keeper.answered.get(number) or self._answer(keeper, file, number)
        if protocol.final_state(answer) is not None:
            self._ending.add(number)
            self._end(keeper, file, number)
            return []
        self._ending.discard(number)
        if not answer or answer == self.told.get(number):
            return []
        self.told[number] = answer
        states = (protocol.PENDING, protocol.ACTIVE)
        return [day_files.Event(number, each) for each in states if answer == protocol.state(each)]

    def _answer(self, keeper: Keeper, file: Path, number: int) -> bytes:
        """Read the answer of a poll; a job that JIM has removed needs no events any more.

        An answer alone may be missing for a moment, as after a power cut: the keeper writes it anew.
        """
        try:
            return inbox.answer(keeper.site.state, number)
        except UnknownJob:
            with suppress(UnknownJob):
                keeper.store.grid_job(number)
                return b""
            self._forget(keeper, file, number)
            return b""

    def _forget(self, keeper: Keeper, file: Path, number: int) -> None:
        file.unlink(missing_ok=True)
        keeper.workers.forget(("gram", number))
        self.told.pop(number, None)
        self.jobs.pop(number, None)
        self._ending.discard(number)

    def _to_look_at(self, keeper: Keeper) -> Iterator[int]:
        """Yield new jobs, and those whose answer has changed: there may be very many others."""
        place = keeper.site.state / "gram"
        if self._left is None:
            self._left = _names(place)
        known, self._left = self._left[:AT_ONCE], self._left[AT_ONCE:]
        numbers = {self._take(keeper, place / name, place / name) for name in known}
        numbers |= {self._take(keeper, place / NEW / name, place / name) for name in _names(place / NEW)}
        yield from (numbers | self._ending | keeper.changed) & self.jobs.keys()

    def _take(self, keeper: Keeper, found: Path, file: Path) -> int:
        """Begin to tell of the job of a description, which gets its place; return the job's number, 0 if unknown."""
        number = _number_of(keeper, found.name)
        if number:
            found.rename(file)
            self.jobs[number] = file.name
        elif found == file:  # left by an older version, and not submitted yet
            (file.parent / NEW).mkdir(mode=0o700, exist_ok=True)
            found.rename(file.parent / NEW / file.name)
        elif not (keeper.site.state / "inbox" / file.name).exists() and _is_old(found):
            found.unlink()  # its job was never submitted
        return number

    def _end(self, keeper: Keeper, file: Path, number: int) -> None:
        """Deliver the results of a job that has ended, in a worker thread, then write its last event."""
        description: Description = json.loads(file.read_bytes())
        work = partial(deliver, keeper.site, number, description)
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


def _names(place: Path) -> list[str]:
    with suppress(FileNotFoundError):
        return [name for name in os.listdir(place) if name.startswith("request-")]  # noqa: PTH208 - names suffice
    return []


def _number_of(keeper: Keeper, name: str) -> int:
    """Look up a job by the file name of its key; 0 if the keeper has not taken it."""
    with suppress(FileNotFoundError):
        return int(json.loads(read_regular(keeper.site.state / "keys" / name, inbox.LONGEST))["id"])
    return 0


def _is_old(file: Path) -> bool:
    return time.time() - file.stat().st_mtime > day_files.DAY


def _not_delivered(number: int, error: BaseException) -> None:
    log.warning("grid job %d: cannot deliver the results, will try again: %s", number, error)

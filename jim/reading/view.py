"""Reads what people are shown: the store, the inbox, the keeper's heartbeat, and the keeper's published summary."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from jim.clock import Clock, age_seconds, as_utc
from jim.doors import inbox, untaken_files
from jim.errors import BadRequest, JimError, UnknownJob
from jim.files import read_regular
from jim.jobs import GridJob, LocalJob, is_unwritten
from jim.model import NOTHING, State, Step, SubmissionState
from jim.reading import before, keeper_life
from jim.reading.keeper_life import Heart
from jim.reading.progress import progress
from jim.site import file as site_file
from jim.site import space
from jim.site.file import Site
from jim.site.lock import heart_beats
from jim.statusdb import empty_store, is_there, open_store
from jim.statusdb.seen.record import failures, record
from jim.statusdb.status import status
from jim.statusdb.store import Store
from jim.statusdb.task_rows import LIVE_TASKS, Task

Found = TypeVar("Found")
PART = 1000  # local jobs that are read at once


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option --json to a verb that reads."""
    parser.add_argument("--json", action="store_true", help="print one JSON document")


class Trouble(NamedTuple):
    """The keeper's published trouble with the batch system or its history; without words there is none."""

    words: str = ""
    failures: int = 0  # in a row
    retry_due: float = 0.0  # time of the next try, in seconds since 1970
    grid_jobs: frozenset[int] = frozenset()  # grid jobs that wait for the history


class Published(NamedTuple):
    """The summary that the keeper published; it is old if no keeper runs."""

    trouble: Trouble = Trouble()
    history: Trouble = Trouble()  # trouble with the source that reports how jobs ended
    # Why the command to the batch system for a grid job's last wish failed.
    unsaid: Mapping[str, str] = NOTHING


class Disk(Protocol):
    """A way to read files."""

    def __call__(self, read: Callable[[], Found]) -> Found:
        """Return what a function reads, or raise `OSError`."""


def at_once(read: Callable[[], Found]) -> Found:
    """Read in this thread, however long that takes."""
    return read()


class View:
    """A state directory, as people read it."""

    def __init__(self, site: Site, store: Store, disk: Disk = at_once, *, made: bool = True) -> None:
        self.site, self.store = site, store
        self._made = made  # else an empty store takes its place
        self.disk = disk  # reads in the work directory, whose file server may hang

    def now(self) -> str:
        """Return the time."""
        return self.store.clock.utc()

    def age(self, then: str) -> float:
        """Return how many seconds ago something happened; 0 without a time."""
        return age_seconds(then, self.now()) if then else 0.0

    def due_in(self, due: float) -> float:
        """Return in how many seconds something is due."""
        return max(0.0, due - self.store.clock.steady())

    def seen(self) -> str:
        """Return when the batch system last gave a good answer about its jobs."""
        return self.store.fact("seen")

    def directory(self, number: int) -> Path:
        """Return the directory of a grid job."""
        return self.site.work / (self.store.grid_job(number).place or str(number))

    def herd(self, text: str) -> int:
        """Return the herd of `G`, or of the id of any of its local jobs."""
        number, slices = self.named(inbox.slices_of, text)
        for _, last in slices:
            self.store.local_job(self.grid_job(number).id, last)
        return number

    def named(self, read: Callable[[str], Found], text: str) -> Found:
        """Read an id; the name of a task is none, and belongs to other verbs."""
        try:
            return read(self.absolute(text))
        except UnknownJob as error:
            name = text.partition("/")[0]
            if not any(task.name == name for task in self.store.tasks.all()):
                raise
            advice = f"`jim task explain {name}` says what it waits for, `jim task --help` lists what else there is"
            raise UnknownJob(f"{name} is a task, not a grid job: {advice}") from error

    def grid_job(self, number: int) -> GridJob:
        """Return a grid job; one that the keeper has not taken yet comes from the inbox."""
        with suppress(UnknownJob):
            return self.store.grid_job(number)
        for job in self.handed_in():
            if job.id == number:
                return job
        try:
            self._open_if_made()
            return self.store.grid_job(number)  # the keeper took it between the two looks
        except UnknownJob:
            hint = untaken_files.hint(self.site.state, number) or before.hint(self.site)
            raise UnknownJob(f"there is no grid job {number} in {self.site.state}{hint}") from None

    def _open_if_made(self) -> None:
        """Open the store if an empty one takes its place, and the first keeper has made it meanwhile."""
        if not self._made:
            self.store, self._made = _opened(self.site.state, self.store.clock)

    def target(self, text: str) -> tuple[GridJob, LocalJob | None]:
        """Return the grid job, and the local job if any, that `G` or `G.n` names."""
        number, n = self.named(inbox.target_of, text)
        job = self.grid_job(number)
        return job, None if n is None else self.store.local_job(number, n)

    def absolute(self, text: str) -> str:
        """Return an id whose local jobs are counted from the end, or up to the end, by their numbers."""
        if "-" not in text:
            return text
        from jim.doors import target  # most ids name one or all local jobs, and lists name none

        if not target.is_relative(text):
            return text
        return target.absolute(text, self.grid_job(int(text.partition(".")[0])).size)

    def numbered(self, text: str) -> str:
        """Return the number of the grid job with this gatekeeper's contact or this key; other text as it is."""
        if re.fullmatch(r"[1-9]\d{0,14}(\.[\d,-]*)?", text, re.ASCII):
            return text
        number = self.store.senders.sent_as(text) or self.store.numbers.of_key(text)
        number = number or next((job.id for job in self.handed_in() if job.key == text), 0)
        return str(number) if number else text

    def members(self, text: str) -> tuple[GridJob, list[LocalJob]]:
        """Return the local jobs that `G.n`, or slices such as `G.1-4,7`, name; none for `G`."""
        number, slices = self.named(inbox.slices_of, text)
        job = self.grid_job(number)
        if slices:
            inbox.require_local_job(number, slices[-1][1], job.size)
        return job, [self.store.local_job(number, n) for first, last in slices for n in range(first, last + 1)]

    def in_parts(
        self, number: int, states: Sequence[State] = tuple(State), *, first: int = 0, limit: int = sys.maxsize
    ) -> Iterator[LocalJob]:
        """Yield local jobs in order, read in parts: few are in memory at a time, and no other reader has to wait."""
        while limit > 0:
            part = self.store.local_jobs(number, states, first=first, limit=min(limit, PART))
            yield from part
            if len(part) < PART:
                return
            first, limit = part[-1].n + 1, limit - PART

    def unfinished(self) -> list[GridJob]:
        """Return the grid jobs that have not finished, including those that the keeper has not taken yet."""
        # First, so that a request that the keeper takes meanwhile is seen twice and not missed.
        handed_in = self.handed_in()
        stored = self.store.grid_jobs(*(step for step in Step if step is not Step.FINISHED))
        return list({job.id: job for job in [*handed_in, *stored]}.values())

    def handed_in(self) -> list[GridJob]:
        """Return the grid jobs that are still in the inbox."""
        paths = [*(self.site.state / "inbox").glob("request-*")]
        if not paths:
            return []
        found = empty_store(self.store.clock)
        for path in paths:
            with suppress(OSError, ValueError, KeyError, TypeError, JimError):
                handed = json.loads(read_regular(path, inbox.LONGEST))
                found.add_grid_job(*(handed[name] for name in ("id", "key", "owner", "created", "request")))
        jobs = found.grid_jobs()
        found.close()
        return [job._replace(updated=job.created) for job in jobs]  # the keeper has not seen them

    def wishes(self, job: GridJob) -> list[tuple[str, str]]:
        """Return the wishes for a grid job that are still in the inbox: the verb, and what it is for."""
        found = []
        for path in sorted((self.site.state / "inbox").glob("wish-*")):
            with suppress(OSError, ValueError, KeyError, TypeError, JimError):
                wish = json.loads(read_regular(path, inbox.LONGEST))
                if inbox.slices_of(wish["target"])[0] == job.id:
                    found.append((str(wish["verb"]), str(wish["target"])))
        return found

    def record(self, job: GridJob) -> dict[str, Any]:
        """Return the record of a grid job that all machine-readable output shares."""
        return record(self.store, job, self.seen(), strict=self.site.site.strict_status)

    def local_record(self, job: GridJob, local: LocalJob) -> dict[str, Any]:
        """Return the same record of a local job."""
        return next(self.local_records(job, [local]))

    def local_records(self, job: GridJob, found: Iterable[LocalJob]) -> Iterator[dict[str, Any]]:
        """Yield the records of local jobs of one grid job, of which there may be very many."""
        whole, seen = self.record(job), self.seen()
        return (self._local_record(whole, seen, each) for each in found)

    def _local_record(self, whole: dict[str, Any], seen: str, local: LocalJob) -> dict[str, Any]:
        looked = local.updated if local.state.final else max(seen, local.updated)
        return whole | {
            "id": f"{local.grid}.{local.n}",
            "status": local.state.value,
            "MasterJobId": local.grid,
            "came_from": "" if local.piece.source is None else f"{local.grid}.{local.piece.source}",
            "counts": {local.state.value: 1},
            "reason": local.reason,
            "witness": local.witness,
            "seen": looked,
            "age_s": 0.0 if local.state.final else round(self.age(looked), 1),
            "updated": local.updated,
        }

    def status(self, job: GridJob) -> str:
        """Return the status of a grid job in one word, by the rules of this site."""
        return status(job, self.store.counts(job.id), strict=self.site.site.strict_status)

    def progress(self, job: GridJob) -> str:
        """Return how far a grid job is, for people who know none of JIM's words."""
        return progress(job, self.store.counts(job.id))

    def why(self, job: GridJob) -> str:
        """Return the reason of a grid job; once it has finished, this includes the reasons of its local jobs."""
        if job.step is Step.FINISHED:
            return job.reason
        return ": ".join(filter(None, (job.reason, failures(self.store, job.id))))

    def shortages(self) -> list[tuple[bool, str]]:
        """Return the disks that had too little room when the keeper last looked: do they stop JIM, and the words.

        A keeper whose own disk is full cannot tell of it, so that one is looked at.
        """
        told = self.store.fact("space") if heart_beats(self.site.state, self.store.clock) else ""
        found = [(bool(stops), str(words)) for stops, words in json.loads(told)] if told else []
        state = None if any(stops for stops, _ in found) else space.shortage(self.site, "state", self.site.state)
        return [*found, (True, state.words)] if state and state.stops else found

    def unwritten(self) -> str:
        """Return why JIM cannot write what a submission needs; empty if none waits for that."""
        waiting = self.store.submissions(SubmissionState.INTENDED)
        return next((each.reason for each in waiting if is_unwritten(each)), "")

    def heart(self) -> Heart:
        """Tell whether a keeper is at work here; if not, include the last keeper's final message."""
        return keeper_life.heart(self.site.state, self.store.clock)

    def keeper_seen(self) -> str:
        """Return when a keeper last wrote its heartbeat; what only it can know is as of then. Empty: none ever did."""
        with suppress(OSError):
            return as_utc((self.site.state / "heartbeat").stat().st_mtime)
        return ""

    def without_keeper(self, tasks: Sequence[Task]) -> str:
        """Return that no keeper runs, though tasks need one, or that each one refuses to go on; empty: all is well."""
        found, needed = self.heart(), any(each.state in LIVE_TASKS for each in tasks)
        return found.missing() if not found.beats and (needed or (tasks and found.refuses)) else ""

    def heartbeat_age(self) -> float | None:
        """Return the seconds since the last heartbeat; None at rest, or if none is known since the machine started."""
        return keeper_life.age(self.site.state, self.store.clock)

    @cached_property
    def published(self) -> Published:
        """Return the keeper's summary, all of one moment; an older version of JIM writes less."""
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            # The records of all open grid jobs follow, of which there may be very many; no string can hold this key.
            head, cut, _ = self.site.summary.read_text().partition(', "jobs": [')
            told = json.loads(f"{head}}}" if cut else head)
            unsaid = {str(grid): str(words) for grid, words in told.get("unsaid", {}).items()}
            return Published(_trouble(told), _trouble(told.get("history", {})), unsaid)
        return Published()


def look(site: Site | None = None) -> View:
    """Open this account's state directory for reading, by the settings of its site."""
    site = site or site_file.load()
    store, made = _opened(site.state, Clock())
    return View(site, store, made=made)


def _opened(state: Path, clock: Clock) -> tuple[Store, bool]:
    """Return the store, and true; before a keeper has made the store, an empty one, and false."""
    if is_there(state):
        store = open_store(state, clock)
        if store.is_made():
            return store, True
        store.close()
    return empty_store(clock), False


def _trouble(told: Mapping[str, Any]) -> Trouble:
    numbers = int(told.get("failures", 0)), float(told.get("retry_due", 0))
    return Trouble(str(told.get("trouble", "")), *numbers, frozenset(told.get("grid_jobs", ())))


def refuse_local_job(text: str, verb: str) -> int:
    """Read `G`, for a verb that accepts only whole grid jobs."""
    number, slices = inbox.slices_of(text)
    if slices:
        raise BadRequest(f"`jim {verb}` needs a whole grid job: use {number} instead of {text}")
    return number

"""What the keeper does for jobs of an HTCondor-CE beside answering: lines of progress, and jobs that are forgotten."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from jim.doors import inbox
from jim.doors.keeping import Keeper
from jim.doors.placing import write
from jim.errand import Errand
from jim.errors import UnknownJob
from jim.jobs import GridJob
from jim.model import Step, Verb
from jim.site.file import Site
from jim.site.realm import opener_of
from jim.statusdb.store import Store

log = logging.getLogger(__name__)
LOOKED_EVERY = 600.0
ASKED = "asked"  # directory of the state directory: each status call touches the file of its job


class Tending:
    """The work in each round of the keeper."""

    def __init__(self, door: str) -> None:
        self._door = door
        self._next_look = 0.0
        self._written: dict[int, bytes] = {}  # the last line beside each job
        # When each job was last asked about, by its trace, and when the keeper saw that, in seconds since boot.
        self._asked: dict[int, tuple[float, float]] = {}

    def __call__(self, keeper: Keeper) -> None:
        """Write changed lines beside split jobs; look now and then for jobs that nobody asks about."""
        for number in keeper.changed:
            self._show(keeper, number)
        if keeper.clock.boot() >= self._next_look:
            self._next_look = keeper.clock.boot() + LOOKED_EVERY
            self._cancel_forgotten(keeper, keeper.site.limits.unasked_seconds)
            _clear(keeper.site.state)

    def _show(self, keeper: Keeper, number: int) -> None:
        try:
            job = keeper.store.grid_job(number)
            if job.door != self._door or job.size < 2:
                return
            line = inbox.answer(keeper.site.state, number).partition(b"\n")[2]
        except UnknownJob:
            self._written.pop(number, None)
            return
        places = keeper.store.at_doors.of(number).places
        if places.get("progress") and line and self._written.get(number) != line:
            self._written[number] = line
            work = partial(_show, keeper.site, job, places, line)
            failed = partial(self._not_written, number)
            keeper.workers.start(Errand(("progress", number), work, _nothing, failed, far=True))

    def _not_written(self, number: int, error: BaseException) -> None:
        log.info("%d: its line of progress cannot be written: %s", number, error)
        self._written.pop(number, None)

    def _cancel_forgotten(self, keeper: Keeper, limit: float) -> None:
        """Cancel jobs that the gatekeeper has not asked about for as long as the site allows.

        Only silence that this keeper has seen counts: the clock may jump, and both may have been off.
        """
        before, self._asked, now = self._asked, {}, keeper.clock.boot()
        for number, last in _asked(keeper.store, keeper.site.state, self._door) if limit else ():
            known = before.get(number, (0.0, now))
            self._asked[number] = seen = known if known[0] == last else (last, now)
            if now - seen[1] > limit:
                why = f"nobody has asked about it for {(now - seen[1]) / 3600:.1f} h, as limits.unasked_seconds says"
                by = f"{inbox.account()}, by the keeper: {why}"
                inbox.wish(keeper.site.state, Verb.CANCEL, str(number), by=by, door=self._door)


def _show(site: Site, job: GridJob, places: Mapping[str, str], line: bytes) -> None:
    write(opener_of(site, job.realm), places["directory"], places["progress"], [line], durable=False)


def _nothing(_: None) -> None:
    """Record nothing: a line was written."""


def _clear(state: Path) -> None:
    """Remove traces of grid jobs that are gone."""
    with suppress(FileNotFoundError):
        for name in os.listdir(state / ASKED):  # noqa: PTH208 - names suffice
            if not (state / "answers" / name).exists():
                (state / ASKED / name).unlink()


def forgotten(store: Store, state: Path, door: str, limit: float) -> Iterator[tuple[int, float]]:
    """Yield open grid jobs of the door that nobody has asked about for so many seconds, and for how many."""
    for number, last in _asked(store, state, door):
        if (seconds := time.time() - last) > limit:
            yield number, seconds


def _asked(store: Store, state: Path, door: str) -> Iterator[tuple[int, float]]:
    """Yield open grid jobs of the door, and when somebody has last asked about each, or submitted it."""
    for job in store.grid_jobs(*(step for step in Step if step is not Step.FINISHED)):
        if job.door == door and job.wish != Verb.CANCEL:
            last = datetime.fromisoformat(job.created).timestamp()
            with suppress(FileNotFoundError):
                last = (state / ASKED / str(job.id)).stat().st_mtime
            yield job.id, last

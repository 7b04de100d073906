"""Writes what polls print before a poll asks: one file per grid job, replaced when the answer changes."""

from __future__ import annotations

import json
import logging
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from jim.doors.contract import Told
from jim.errand import Errand
from jim.errors import JimError, StoreError
from jim.files import read_regular, replace, sync_directory, sync_file
from jim.jobs import PLACED, AtDoor, GridJob
from jim.keeper.keeper import Keeper
from jim.keeper.queue.fulfilling import unsaid
from jim.keeper.results.placing import PLACE, Placing, trouble
from jim.keeper.workers import NEVER
from jim.model import Standing, Step
from jim.statusdb.seen.progress import progress
from jim.statusdb.seen.record import exit_code, record
from jim.statusdb.status import standing
from jim.trust.plugins import foreign

log = logging.getLogger(__name__)
LONGEST_ANSWER = 65_536
OF_A_MOMENT = {"seen", "age_s"}  # fields that depend on the time of reading; the page has one `seen` for all jobs
MANY_ENDED = 1000  # fewer share a transaction with the next ones while the keeper is busy
LAST = "last answers"
PAGE, PAUSES = "page", 100  # pause after writing the page, in multiples of the time that writing took


class Answering:
    """The move that writes changed answers to polls, and the page of all grid jobs that the group may read."""

    def __init__(self) -> None:
        self._records: dict[int, str] = {}  # of open grid jobs, as JSON
        self._ended: set[int] = set()  # grid jobs whose last answer is written
        self._syncing: set[int] = set()  # of these, those that a worker makes durable
        self._changed = True
        self._trouble: tuple[object, ...] = ()
        self._tasks = 0  # how often tasks had changed when the page was written
        self._placing = Placing()

    def __call__(self, keeper: Keeper, job: GridJob) -> float:
        """Write what polls print and note the record for the page; return when to try again."""
        kept = keeper.store.at_doors.of(job.id) if job.step is Step.FINISHED else AtDoor()
        later = self._placing(keeper, job, kept)
        for those in (self._ended, self._syncing):
            those.discard(job.id)  # its answer may change; the last one is made durable again
        answered, facts = keeper.doors.answered, _told(keeper, job, kept)
        answer, again = _answer(keeper, job, facts)
        self._note(keeper, job)
        if not answer:
            answered.setdefault(job.id, b"")
            return min(later, again)
        file = keeper.site.state / "answers" / str(job.id)
        before = answered.get(job.id)
        if before != answer:
            if before or _written(file) != answer:
                replace(file, answer)
            keeper.doors.changed.add(job.id)
        answered[job.id] = answer
        if facts.standing.final:
            self._ended.add(job.id)
            del answered[job.id]
            for each in ("wish", "cancel", PLACE):
                keeper.workers.forget((each, job.id))
        return min(later, again)

    def _note(self, keeper: Keeper, job: GridJob) -> None:
        self._changed = True
        if job.step is Step.FINISHED:
            self._records.pop(job.id, None)
        else:
            told = record(keeper.store, job, strict=keeper.site.site.strict_status)
            lasting = {name: value for name, value in told.items() if name not in OF_A_MOMENT}
            self._records[job.id] = json.dumps(lasting)

    def publish(self, keeper: Keeper) -> None:
        """Write the page for the group after a change, once no look is due. A slow write makes the pause longer."""
        trouble = keeper.health.failures, keeper.history.failures, unsaid(keeper)
        changed = self._changed or (trouble, keeper.store.tasks.times_changed) != (self._trouble, self._tasks)
        calm = keeper.looks.soonest() > 0.0
        if self._ended and (calm or len(self._ended) >= MANY_ENDED) and keeper.workers.ready(LAST):
            self._make_durable(keeper)
        if changed and calm and keeper.workers.ready(PAGE):
            began = keeper.clock.boot()
            with suppress(OSError):  # a page that cannot be shown must not hold up a job
                replace(keeper.site.summary, _page(keeper, self._records.values()).encode(), 0o640)
            self._changed, self._trouble, self._tasks = False, trouble, keeper.store.tasks.times_changed
            keeper.workers.wait(PAGE, PAUSES * (keeper.clock.boot() - began))

    def _make_durable(self, keeper: Keeper) -> None:
        """Let a worker make last answers durable; only then the store forgets that they are to be written."""
        ended, self._ended = self._ended, set()
        self._syncing |= ended
        failed = partial(self._not_durable, ended)
        work = partial(_sync, keeper.site.state / "answers", sorted(ended))
        keeper.workers.start(Errand(LAST, work, partial(self._are_durable, keeper, ended), failed))

    def _are_durable(self, keeper: Keeper, ended: set[int], missing: set[int]) -> None:
        kept = (ended & self._syncing) - missing
        self._syncing -= ended
        keeper.looks.add(missing)
        keeper.store.answers.are_written(kept)

    def _not_durable(self, ended: set[int], error: BaseException) -> None:
        log.warning("the last answers of %d grid jobs are not durable yet, will try again: %s", len(ended), error)
        self._ended |= ended & self._syncing
        self._syncing -= ended


def _sync(answers: Path, numbers: Iterable[int]) -> set[int]:
    """Make answers durable, with their names; return the grid jobs whose answer is not there. Runs in a worker."""
    missing = set()
    for number in numbers:
        try:
            sync_file(answers / str(number))
        except (FileNotFoundError, JimError):  # it was removed with its grid job, or somebody was at it
            missing.add(number)
    sync_directory(answers)
    return missing


def write_anew(keeper: Keeper) -> None:
    """Have last answers written again that are empty or missing, as after a power cut, or a hand that cleaned up."""
    there = set()
    with os.scandir(keeper.site.state / "answers") as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                about = entry.stat(follow_symlinks=False)
                if about.st_size and stat.S_ISREG(about.st_mode):
                    there.add(entry.name)
    lost = [number for number in keeper.store.answers.written() if str(number) not in there]
    if lost:
        log.warning("the last answers of %d grid jobs are empty or missing, and are written again", len(lost))
        keeper.store.answers.write_anew(lost)


def _written(file: Path) -> bytes:
    """Return what polls print now; empty if there is no readable answer."""
    try:
        return read_regular(file, LONGEST_ANSWER)
    except (OSError, JimError):
        return b""


def _told(keeper: Keeper, job: GridJob, kept: AtDoor) -> Told:
    """Return what the door tells of a grid job: the end only once the outputs are in their places."""
    now = standing(job, {} if job.step is Step.FINISHED else keeper.store.counts(job.id))
    if not now.final:
        return Told(job.id, now, started=job.started)
    if kept.waits:
        return Told(job.id, Standing.ACTIVE, started=job.started, progress=trouble(keeper, job.id))
    code = exit_code(keeper.store, job)
    if kept.placed not in ("", PLACED):
        return Told(job.id, Standing.FAILED, kept.placed, code or 1)
    return Told(job.id, now, "" if now is Standing.DONE else job.reason or job.outcome, code)


def _answer(keeper: Keeper, job: GridJob, facts: Told) -> tuple[bytes, float]:
    """Return what polls print, empty if the grid job's door is gone or fails, and when to ask again."""
    try:
        door = keeper.doors.named(job.door)
        again = NEVER
        if door.progress_seconds and not facts.standing.final:
            again = keeper.clock.boot() + door.progress_seconds
            facts = facts._replace(progress=facts.progress or progress(keeper.store, job))
        with foreign(f"the door {door.name!r} cannot tell the status of a grid job"):
            return door.state(facts), again
    except StoreError:
        raise
    except (JimError, OSError) as error:
        if keeper.workers.pace(("door", job.door)):
            log.error("%d: polls print the same answer as before: %s", job.id, error)
        return b"", keeper.workers.due(("door", job.door))


def _page(keeper: Keeper, records: Iterable[str]) -> str:
    """Return the page that shows this account's grid jobs to the group."""
    health, history = keeper.health, keeper.history
    summary = {
        "site": keeper.site.site.name,
        "at": keeper.clock.utc(),
        "seen": health.seen,
        "trouble": health.trouble.words,
        "failures": health.failures,
        "retry_due": keeper.clock.steady(health.retry_at),
        "history": {
            "trouble": history.trouble.words,
            "failures": history.failures,
            "retry_due": keeper.clock.steady(history.retry_at),
            "grid_jobs": sorted({key[0] for key in keeper.doubts}),
        },
        "unsaid": unsaid(keeper),
        "waits": list(keeper.channel.starts.waits),
        "tasks": _tasks(keeper),
    }
    return f'{json.dumps(summary)[:-1]}, "jobs": [{", ".join(records)}]}}'


def _tasks(keeper: Keeper) -> list[dict[str, Any]]:
    """Return what the group may know of tasks: how far each is, by its tally."""
    tasks = keeper.store.tasks.all()
    counts = keeper.store.seen_tasks.counts([each.id for each in tasks])
    return [
        {
            "name": each.name,
            "state": each.state.value,
            "outcome": each.outcome,
            "reason": each.reason,
            **{what: counts.get(each.id, {}).get(what, {}) for what in ("items", "pieces")},
            "updated": each.updated,
        }
        for each in tasks
    ]

"""What a door answers, written before it is asked: one file per grid job, replaced when it changes."""

from __future__ import annotations

import json
import logging
from contextlib import suppress

from jim.doors.contract import Told
from jim.errors import JimError, StoreError
from jim.files import replace
from jim.jobs import GridJob
from jim.keeper.fulfilling import unsaid
from jim.keeper.keeper import Keeper
from jim.keeper.workers import NEVER
from jim.model import Standing, Step
from jim.plugins import foreign
from jim.statusdb.record import exit_code, record, standing

log = logging.getLogger(__name__)
OPEN = tuple(step for step in Step if step is not Step.FINISHED)


class Answering:
    """The move that writes what polls print of a grid job, if that has changed."""

    def __call__(self, keeper: Keeper, job: GridJob) -> float:
        """Write it; tell when to try again."""
        answered, key = keeper.doors.answered, ("door", job.door)
        answer = _answer(keeper, job)
        if not answer:
            answered.setdefault(job.id, b"")
            return keeper.workers.due(key)
        if answered.get(job.id) != answer:
            replace(keeper.site.state / "answers" / str(job.id), answer)
            answered[job.id] = answer
        if job.step is Step.FINISHED:
            del answered[job.id]
            for each in ("wish", "cancel"):
                keeper.workers.forget((each, job.id))
        return NEVER


def _answer(keeper: Keeper, job: GridJob) -> bytes:
    """Let the door of a grid job write what its polls print; nothing where that door is gone, or has a fault."""
    now = standing(job, keeper.store.counts(job.id))
    told = Told(job.id, now)
    if now.final:
        reason = "" if now is Standing.DONE else job.reason or job.outcome
        told = Told(job.id, now, reason, exit_code(keeper.store, job))
    try:
        door = keeper.doors.named(job.door)
        with foreign(f"the door {door.name!r} cannot say how a grid job is"):
            return door.state(told)
    except StoreError:
        raise
    except (JimError, OSError) as error:
        if keeper.workers.pace(("door", job.door)):
            log.error("%d: polls print what they did: %s", job.id, error)
        return b""


class Publishing:
    """The move that lets the group read how this account's grid jobs are, once something has changed."""

    def __init__(self) -> None:
        self._changes = -1
        self._trouble: tuple[object, ...] = ()

    def __call__(self, keeper: Keeper) -> None:
        """Write the page, if anything on it may have changed."""
        changes = keeper.store.changes()
        trouble = keeper.health.failures, keeper.history.failures, unsaid(keeper)
        if (changes, trouble) != (self._changes, self._trouble):
            _publish(keeper, keeper.store.grid_jobs(*OPEN))
            self._changes, self._trouble = changes, trouble


def _publish(keeper: Keeper, jobs: list[GridJob]) -> None:
    """Let the group read how this account's grid jobs are."""
    strict = keeper.site.site.strict_status
    open_jobs = [record(keeper.store, job, keeper.health.seen, strict=strict) for job in jobs]
    summary = {
        "site": keeper.site.site.name,
        "at": keeper.clock.utc(),
        "trouble": keeper.health.trouble.words,
        "failures": keeper.health.failures,
        "retry_due": keeper.clock.steady(keeper.health.retry_at),
        "history": {
            "trouble": keeper.history.trouble.words,
            "failures": keeper.history.failures,
            "retry_due": keeper.clock.steady(keeper.history.retry_at),
            "grid_jobs": sorted({key[0] for key in keeper.doubts}),
        },
        "unsaid": unsaid(keeper),
        "jobs": open_jobs,
    }
    with suppress(OSError):  # a page that cannot be shown must not hold up a job
        replace(keeper.site.summary, json.dumps(summary).encode(), 0o640)

"""What a door answers, written before it is asked: one file per grid job, replaced when it changes."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Set
from contextlib import suppress

from jim.doors.contract import Told
from jim.errors import JimError, StoreError, UnknownJob
from jim.files import replace
from jim.jobs import GridJob
from jim.keeper.keeper import House
from jim.keeper.telling import door_named
from jim.model import Standing, Step
from jim.plugins import foreign
from jim.statusdb.record import exit_code, record, standing

log = logging.getLogger(__name__)


def write(house: House) -> None:
    """Write the answers that changed; after a start all are looked at once."""
    changes = house.store.changes()
    trouble = house.health.failures, house.history.failures, dict(house.unsaid)
    if changes == house.answered_changes and trouble == house.published_trouble:
        return
    jobs = house.store.grid_jobs(*(() if house.answered_changes < 0 else _OPEN))
    ended = house.answered.keys() - {job.id for job in jobs}
    for job in (*jobs, *_still_there(house, ended)):
        _write(house, job)
    house.answered_changes, house.published_trouble = changes, trouble
    _publish(house, jobs)


def _still_there(house: House, numbers: Set[int]) -> Iterator[GridJob]:
    """Give grid jobs that have ended; one whose door had a fault may have been removed meanwhile."""
    for number in numbers:
        try:
            yield house.store.grid_job(number)
        except UnknownJob:
            del house.answered[number]


def _write(house: House, job: GridJob) -> None:
    answer = _answer(house, job)
    if not answer:  # looked at again with the next change
        house.answered.setdefault(job.id, b"")
        return
    if house.answered.get(job.id) != answer:
        replace(house.site.state / "answers" / str(job.id), answer)
        house.answered[job.id] = answer
    if job.step is Step.FINISHED:
        del house.answered[job.id]
        house.unsaid.pop(job.id, None)


def _answer(house: House, job: GridJob) -> bytes:
    """Let the door of a grid job write what its polls print; nothing where that door is gone, or has a fault."""
    now = standing(job, house.store.counts(job.id))
    told = Told(job.id, now)
    if now.final:
        reason = "" if now is Standing.DONE else job.reason or job.outcome
        told = Told(job.id, now, reason, exit_code(house.store, job))
    try:
        door = door_named(house, job.door)
        with foreign(f"the door {door.name!r} cannot say how a grid job is"):
            return door.state(told)
    except StoreError:
        raise
    except (JimError, OSError) as error:
        if house.pace(("door", job.door)):
            log.error("%d: polls print what they did: %s", job.id, error)
        return b""


def _publish(house: House, jobs: list[GridJob]) -> None:
    """Let the group read how this account's grid jobs are."""
    strict = house.site.site.strict_status
    open_jobs = [
        record(house.store, job, house.health.seen, strict=strict) for job in jobs if job.step is not Step.FINISHED
    ]
    summary = {
        "site": house.site.site.name,
        "at": house.clock.utc(),
        "trouble": house.health.trouble.words,
        "failures": house.health.failures,
        "retry_due": house.clock.steady(house.health.retry_at),
        "history": {
            "trouble": house.history.trouble.words,
            "failures": house.history.failures,
            "retry_due": house.clock.steady(house.history.retry_at),
            "grid_jobs": sorted({key[0] for key in house.doubts}),
        },
        "unsaid": house.unsaid,
        "jobs": open_jobs,
    }
    with suppress(OSError):  # a page that cannot be shown must not hold up a job
        replace(house.site.summary, json.dumps(summary).encode(), 0o640)


_OPEN = tuple(step for step in Step if step is not Step.FINISHED)

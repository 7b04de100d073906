"""Holding the outputs of local jobs that have ended well against their exit records."""

from __future__ import annotations

import hashlib
import logging
import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from jim.errors import JimError
from jim.evidence import verdict
from jim.evidence.exit_record import ExitRecord, Output, read_exit_record
from jim.files import open_regular, passes
from jim.jobs import Key
from jim.keeper import judging
from jim.keeper.keeper import House
from jim.model import State, Step
from jim.workdir.submission import submission_directory

log = logging.getLogger(__name__)
VERIFIED_AT_ONCE = 200
FILE_SERVER_SECONDS, LOOK_AGAIN_SECONDS = 3600.0, 10.0  # what cannot be looked at is not known to be bad
BLOCK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Claimed:
    """The outputs that an attempt's exit record claims, and where they should be."""

    key: Key
    n: int
    directory: Path
    record: ExitRecord


def verify(house: House) -> None:
    """Hold the outputs of ended local jobs against their exit records: success needs that."""
    if house.workers.busy("verify"):
        return
    claimed: list[Claimed] = []
    for job in house.store.grid_jobs(Step.SPLIT, Step.ACTIVE):
        room = VERIFIED_AT_ONCE - len(claimed)
        claimed += [_claimed(house, job.id, each.n) for each in _completing(house, job.id, room)]
    if claimed:
        house.workers.start("verify", partial(_check_all, claimed), partial(_checked, house), _broken)


def _completing(house: House, grid: int, room: int) -> list[Any]:
    jobs = house.store.local_jobs(grid, (State.COMPLETING,), limit=room)
    soon = house.clock.boot()
    return [job for job in jobs if house.paced.get(("verify", grid, job.n), (0.0, 0))[0] <= soon]


def _claimed(house: House, grid: int, n: int) -> Claimed:
    attempt = house.store.attempts(grid, n=n)[-1]
    directory = submission_directory(house.directory(grid), attempt.k) / f"run.{attempt.idx}"
    return Claimed((grid, attempt.k, attempt.idx), n, directory, read_exit_record(attempt.record))


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with outputs: they are not as claimed, or cannot be looked at just now."""

    said: str
    passes: bool


def _check_all(claimed: list[Claimed]) -> list[tuple[Claimed, Problem | None]]:
    return [(each, _problem(each)) for each in claimed]


def _problem(claimed: Claimed) -> Problem | None:
    """Say what is wrong with the first output that is not as claimed; nothing when all are."""
    for output in claimed.record.files:
        try:
            deque(verified(claimed.directory, output), maxlen=0)
        except (OSError, JimError) as error:
            return Problem(f"{output.name}: {error}", isinstance(error, OSError) and passes(error))
    return None


def verified(directory: Path, output: Output) -> Iterator[bytes]:
    """Give an output's content, and raise if it is not what the exit record says, at the end at the latest."""
    with os.fdopen(_open_inside(directory, output.name), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size != output.size:
            raise JimError(f"{size:,} bytes instead of {output.size:,}")
        digest = hashlib.sha256()
        while block := file.read(min(BLOCK, size)):
            digest.update(block)
            size -= len(block)
            yield block
        if digest.hexdigest() != output.sha256:
            raise JimError("other content than when the payload ended")


def _open_inside(directory: Path, name: str) -> int:
    """Open an output; no part of its path may be a link, or it could be anything anywhere."""
    place = directory
    for part in name.split("/"):
        place = place / part
        if place.is_symlink():
            raise JimError("is or lies behind a link")
    return open_regular(place)


def _checked(house: House, results: list[tuple[Claimed, Problem | None]]) -> None:
    now = house.clock.boot()
    with house.store.transaction():
        for claimed, problem in results:
            pace = ("verify", claimed.key[0], claimed.n)
            if not problem:
                judging.record(house, claimed.key, verdict.VERIFIED)
            elif now - house.unverified.setdefault(claimed.key, now) >= _patience(house, problem):
                judging.record(house, claimed.key, verdict.of_bad_outputs(problem.said))
            else:
                if problem.passes:
                    log.warning("%d.%d: its outputs cannot be looked at: %s", claimed.key[0], claimed.n, problem.said)
                house.paced[pace] = (now + (LOOK_AGAIN_SECONDS if problem.passes else 0.5), 0)
                continue
            house.paced.pop(pace, None)


def _patience(house: House, problem: Problem) -> float:
    """Files of a worker node can be seen late, and a file server may be away for longer."""
    return FILE_SERVER_SECONDS if problem.passes else house.site.batch.visible_seconds


def _broken(error: BaseException) -> None:
    raise error

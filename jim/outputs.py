"""Outputs: verified against their exit records, and gathered into one tar."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from jim import verdict, verdicts
from jim.errors import JimError
from jim.files import open_regular, sync_directory
from jim.handlers.base import Result
from jim.house import House, Key
from jim.idealizer.retry import AGAIN, delay
from jim.model import State, Step, Witness, roll_up
from jim.records import ExitRecord, Output, read_exit_record
from jim.request import handler_of
from jim.sandbox import grid_directory, submission_directory
from jim.statusdb.rows import GridJob

log = logging.getLogger(__name__)
VERIFIED_AT_ONCE = 200
BLOCK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Claimed:
    """The outputs that an attempt's exit record claims, and where they should be."""

    key: Key
    n: int
    directory: Path
    record: ExitRecord


# Verifying


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
    directory = submission_directory(house.site.work, grid, attempt.k) / f"run.{attempt.idx}"
    return Claimed((grid, attempt.k, attempt.idx), n, directory, read_exit_record(attempt.record))


def _check_all(claimed: list[Claimed]) -> list[tuple[Claimed, str]]:
    return [(each, _problem(each)) for each in claimed]


def _problem(claimed: Claimed) -> str:
    """Say what is wrong with the first output that is not as claimed; nothing when all are."""
    for output in claimed.record.files:
        try:
            descriptor = _open_inside(claimed.directory, output.name)
            with os.fdopen(descriptor, "rb") as file:
                wrong = _differs(file, output)
        except (OSError, JimError) as error:
            wrong = str(error)
        if wrong:
            return f"{output.name}: {wrong}"
    return ""


def _open_inside(directory: Path, name: str) -> int:
    """Open an output; no part of its path may be a link, or it could be anything anywhere."""
    place = directory
    for part in name.split("/"):
        place = place / part
        if place.is_symlink():
            raise JimError("is or lies behind a link")
    return open_regular(place)


def _differs(file: Any, output: Output) -> str:
    wrong = _size_differs(file, output)
    digest = hashlib.sha256()
    while not wrong and (block := file.read(BLOCK)):
        digest.update(block)
    return wrong or _content_differs(digest, output)


def _size_differs(file: Any, output: Output) -> str:
    size = os.fstat(file.fileno()).st_size
    return "" if size == output.size else f"{size:,} bytes instead of {output.size:,}"


def _content_differs(digest: Any, output: Output) -> str:
    return "" if digest.hexdigest() == output.sha256 else "other content than when the payload ended"


def _checked(house: House, results: list[tuple[Claimed, str]]) -> None:
    now = house.clock.boot()
    with house.store.transaction():
        for claimed, problem in results:
            pace = ("verify", claimed.key[0], claimed.n)
            if not problem:
                verdicts.record(house, claimed.key, verdict.VERIFIED)
            elif now - house.unverified.setdefault(claimed.key, now) >= house.site.batch.visible_seconds:
                verdicts.record(house, claimed.key, verdict.of_bad_outputs(problem))
            else:  # files of a worker node can be seen late
                house.paced[pace] = (now + 0.5, 0)
                continue
            house.paced.pop(pace, None)


def _broken(error: BaseException) -> None:
    raise error


# Collecting


def collect(house: House) -> None:
    """Gather the outputs of grid jobs whose local jobs have all ended, and finish those."""
    for job in house.store.grid_jobs(Step.ACCEPTED, Step.RESOLVED, Step.SPLIT, Step.ACTIVE):
        if _all_ended(house, job):
            house.store.set_grid_job(job.id, step=Step.COLLECTING)
    for job in house.store.grid_jobs(Step.COLLECTING):
        name = ("collect", job.id)
        if house.clock.boot() >= job.due and not house.workers.busy(name):
            results = list(_results(house, job))
            states = [(each.n, each.state.value, each.attempt, each.reason) for each in house.store.local_jobs(job.id)]
            task = partial(_gather, house.site.work, house.site.site.handlers, job, results, states)
            house.workers.start(name, task, partial(_finish, house, job.id), partial(_not_gathered, house, job))


def _all_ended(house: House, job: GridJob) -> bool:
    if job.step in (Step.ACCEPTED, Step.RESOLVED):  # nothing was sent yet: a cancel, or a split that failed, ends it
        return bool(job.outcome) or (job.wish == "cancel" and not house.workers.busy(("split", job.id)))
    return all(state.final for state in house.store.counts(job.id))


def _results(house: House, job: GridJob) -> Iterator[Claimed]:
    """Give what is to go into the tar: of each completed local job the one attempt that completed it."""
    for attempt in house.store.attempts(job.id):
        if attempt.verdict == State.COMPLETED.value:
            directory = submission_directory(house.site.work, job.id, attempt.k) / f"run.{attempt.idx}"
            key = (job.id, attempt.k, attempt.idx)
            yield Claimed(key, attempt.n, directory, read_exit_record(attempt.record))


def _gather(
    work: Path, own_handlers: str, job: GridJob, results: list[Claimed], states: list[tuple[int, str, int, str]]
) -> Mapping[str, Any]:
    """Write the tar and what the handler adds beside it. Runs in a worker."""
    place = grid_directory(work, job.id) / "result"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    tar = place / f"{job.id}.tar"
    temporary = tar.with_name(f".{tar.name}")
    with temporary.open("wb") as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as packed:
            _add_summary(packed, job, states)
            for claimed in results:
                _add(packed, job.id, claimed)
        file.flush()
        os.fsync(file.fileno())
    size, line = temporary.stat().st_size, ""
    if results:
        line = _let_handler_collect(own_handlers, job, results, place)
    temporary.rename(tar)
    sync_directory(place)
    beside = sorted(each.name for each in place.iterdir() if not each.name.startswith(".") and each != tar)
    return {"tar": str(tar), "bytes": size, "local_jobs": len(results), "beside": beside, "line": line}


def _let_handler_collect(own_handlers: str, job: GridJob, results: list[Claimed], place: Path) -> str:
    """Let the job type add its picture; if it cannot, the tar is no worse for it."""
    handler = handler_of(job.job_type, own_handlers)
    found = (Result(each.n, each.directory, tuple(o.name for o in each.record.files)) for each in results)
    try:
        return handler.collect(job.request, found, place)
    except (JimError, ValueError, LookupError, TypeError, ArithmeticError, AttributeError) as error:
        log.warning("%d: the job type's collect step failed: %s: %s", job.id, type(error).__name__, error)
        return f"nothing was made of the outputs: {error}"


def _add_summary(packed: tarfile.TarFile, job: GridJob, states: list[tuple[int, str, int, str]]) -> None:
    names = ("n", "state", "attempt", "reason")
    facts = {"id": job.id, "key": job.key, "type": job.job_type, "request": job.request}
    local_jobs = [dict(zip(names, each, strict=True)) for each in states]
    content = json.dumps({**facts, "local_jobs": local_jobs}, indent=1).encode()
    member = tarfile.TarInfo("summary.json")
    member.size = len(content)
    packed.addfile(member, io.BytesIO(content))


class _Hashed:
    """A file that is hashed as it is read, so that what is copied is what was looked at."""

    def __init__(self, file: Any) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def read(self, size: int) -> bytes:
        block: bytes = self._file.read(size)
        self.digest.update(block)
        return block


def _add(packed: tarfile.TarFile, grid: int, claimed: Claimed) -> None:
    """Add one local job's outputs; what changed since it was verified must not slip in."""
    for output in claimed.record.files:
        member = tarfile.TarInfo(f"{grid}.{claimed.n}/{output.name}")
        member.size, member.mode = output.size, 0o600
        with os.fdopen(_open_inside(claimed.directory, output.name), "rb") as file:
            wrong, hashed = _size_differs(file, output), _Hashed(file)
            if not wrong:
                packed.addfile(member, hashed)  # type: ignore[arg-type]
                wrong = _content_differs(hashed.digest, output)
            if wrong:
                raise JimError(f"output {output.name} of {grid}.{claimed.n} changed after it was verified: {wrong}")


def _finish(house: House, grid: int, result: Mapping[str, Any]) -> None:
    job = house.store.grid_job(grid)
    counts = house.store.counts(grid)
    outcome, reason = _outcome(job, counts)
    house.store.set_grid_job(grid, step=Step.FINISHED, outcome=outcome.value, reason=reason, result=result)
    log.info("%d: finished as %s %s", grid, outcome.value, reason)


def _outcome(job: GridJob, counts: Mapping[State, int]) -> tuple[State, str]:
    """Say how a grid job ended as a whole, and why if not well."""
    if job.outcome:  # a split that failed
        return State(job.outcome), job.reason
    bad = {state: counts.get(state, 0) for state in (State.FAILED, State.KILLED, State.NEW)}
    parts = [f"{count} of {job.size} local jobs {state.value}" for state, count in bad.items() if count]
    reason = ", ".join(parts).replace(f"{job.size} local jobs new", f"{job.size} local jobs never sent")
    if job.wish == "cancel" and (reason or not job.size):  # else it came too late: all had completed
        return State.KILLED, f"cancelled{': ' if reason else ''}{reason}"
    if bad[State.NEW] and not bad[State.FAILED]:
        return State.FAILED, reason
    return roll_up(counts), reason


def _not_gathered(house: House, job: GridJob, error: BaseException) -> None:
    """Keep trying what a full disk or a late file prevents; the reason is shown meanwhile. A cancel ends it."""
    if not isinstance(error, JimError | OSError):
        raise error
    log.warning("%d: collecting failed: %s", job.id, error)
    with suppress(OSError):
        (grid_directory(house.site.work, job.id) / "result" / f".{job.id}.tar").unlink()
    if job.wish == "cancel" and isinstance(error, JimError | FileNotFoundError):  # the outputs are spoilt
        reason = f"cancelled: {error}"
        house.store.set_grid_job(job.id, step=Step.FINISHED, outcome=State.KILLED.value, reason=reason, result={})
        return
    tries = job.tries + 1
    due = house.clock.boot() + delay(AGAIN, tries)
    house.store.set_grid_job(job.id, tries=tries, due=due, reason=f"collecting: {error}")
    if tries == 1:
        house.store.note(job.id, "collecting failed, will be tried again", Witness.KEEPER, str(error))

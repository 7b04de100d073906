"""Outputs: verified against their exit records, and gathered into one tar."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from jim.errors import JimError, Outdated, StoreError
from jim.evidence import verdict
from jim.evidence.exit_record import ExitRecord, Output, read_exit_record
from jim.files import open_regular, passes, sync_directory
from jim.handlers.base import Result
from jim.idealizer.retry import AGAIN, delay
from jim.jobs import GridJob, Key
from jim.keeper import judging
from jim.keeper.keeper import House
from jim.model import State, Step, Verb, Witness, roll_up
from jim.plugins import foreign
from jim.request import handler_of
from jim.statusdb.contract import Store
from jim.statusdb.record import failures
from jim.workdir import credentials
from jim.workdir.submission import own_directory, submission_directory
from jim.workdir.tar import Tar

log = logging.getLogger(__name__)
VERIFIED_AT_ONCE = 200
FILE_SERVER_SECONDS, LOOK_AGAIN_SECONDS = 3600.0, 10.0  # what cannot be looked at is not known to be bad
BLOCK = 1024 * 1024
LARGEST_LAST_WORDS = 1024 * 1024  # bytes of a failed local job's stdout or stderr


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
            deque(_verified(claimed.directory, output), maxlen=0)
        except (OSError, JimError) as error:
            return Problem(f"{output.name}: {error}", isinstance(error, OSError) and passes(error))
    return None


def _verified(directory: Path, output: Output) -> Iterator[bytes]:
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


# Collecting


def collect(house: House) -> None:
    """Gather the outputs of grid jobs whose local jobs have all ended, and finish those."""
    for job in house.store.grid_jobs(Step.ACCEPTED, Step.RESOLVED, Step.SPLIT, Step.ACTIVE):
        if _all_ended(house, job):
            with house.store.transaction():
                if job.step is Step.RESOLVED:
                    house.store.empty(job.id)  # of what was cancelled while it was split
                house.store.set_grid_job(job.id, step=Step.COLLECTING)
    for job in house.store.grid_jobs(Step.COLLECTING):
        name = ("collect", job.id)
        if house.clock.steady() >= job.due and not house.workers.busy(name):
            house.workers.start(
                name, partial(_gather, house, job), partial(_finish, house, job.id), partial(_not_gathered, house, job)
            )


def _all_ended(house: House, job: GridJob) -> bool:
    if job.step in (Step.ACCEPTED, Step.RESOLVED):  # nothing was sent yet: a cancel, or a split that failed, ends it
        return bool(job.outcome) or (job.wish == Verb.CANCEL and not house.workers.busy(("split", job.id)))
    return all(state.final for state in house.store.counts(job.id))


def _gather(house: House, job: GridJob) -> Mapping[str, Any]:
    """Write the tar and what the handler adds beside it. Runs in a worker, with its own reader of the store."""
    house.hold.reach()
    own = house.site.work / (job.place or own_directory(house.site.work, job, unsent=True))
    place = own / "result"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    tar = place / f"{job.id}.tar"
    temporary = tar.with_name(f".{tar.name}")
    with closing(house.store.reader()) as store:
        with temporary.open("wb") as file:
            _fill(Tar(file), own, job, store)
            file.flush()
            os.fsync(file.fileno())
        completed, line = sum(each.state == "completed" and bool(each.record) for each in store.ended(job.id)), ""
        if completed:
            line = _let_handler_collect(house, job, store, place)
    size = temporary.stat().st_size
    temporary.rename(tar)
    sync_directory(place)
    beside = sorted(each.name for each in place.iterdir() if not each.name.startswith(".") and each != tar)
    return {"tar": str(tar), "bytes": size, "local_jobs": completed, "beside": beside, "line": line}


def _fill(tar: Tar, place: Path, job: GridJob, store: Store) -> None:
    """Put the summary into the tar, the outputs of what completed, and the last words of what failed."""
    names = ("n", "state", "attempt", "reason")
    facts = {"id": job.id, "key": job.key, "type": job.job_type, "request": job.request}
    local_jobs = [dict(zip(names, each, strict=False)) for each in store.ended(job.id)]
    summary = json.dumps({**facts, "local_jobs": local_jobs}, indent=1).encode()
    tar.add("summary.json", len(summary), [summary])
    for each in _claims(store, place, job.id, State.COMPLETED):
        _add(tar, each)
    for each in _claims(store, place, job.id, State.FAILED):
        _add_last_words(tar, each)
    tar.end()


def _claims(store: Store, place: Path, grid: int, state: State) -> Iterator[Claimed]:
    """Give what the local jobs in this state claim, each by the exit record of its last attempt, if there is one."""
    for each in store.ended(grid):
        if each.state == state.value and each.record:
            directory = submission_directory(place, each.k) / f"run.{each.idx}"
            yield Claimed((grid, each.k, each.idx), each.n, directory, read_exit_record(each.record))


def _add(tar: Tar, claimed: Claimed) -> None:
    """Add a completed local job's outputs; what changed since it was verified must not slip in."""
    for output in claimed.record.files:
        name = f"{claimed.key[0]}.{claimed.n}/{output.name}"
        try:
            tar.add(name, output.size, _verified(claimed.directory, output))
        except JimError as error:
            raise JimError(f"output {name} changed after it was verified: {error}") from error


def _add_last_words(tar: Tar, claimed: Claimed) -> None:
    """Add what a failed local job wrote, for its owner to see why; what is not as it was is left out."""
    for output in claimed.record.files:
        if output.name in ("stdout", "stderr"):
            last = b""
            try:
                for block in _verified(claimed.directory, output):
                    last = (last + block)[-LARGEST_LAST_WORDS:]
            except (OSError, JimError):
                continue
            name = output.name if len(last) == output.size else f"{output.name}.last"
            tar.add(f"{claimed.key[0]}.{claimed.n}/{name}", len(last), [last])


def _let_handler_collect(house: House, job: GridJob, store: Store, place: Path) -> str:
    """Let the job type add its picture; if it cannot, the tar is no worse for it."""
    handler = handler_of(job.job_type, house.site.site.handlers)
    claims = _claims(store, place.parent, job.id, State.COMPLETED)
    found = (Result(each.n, each.directory, tuple(o.name for o in each.record.files)) for each in claims)
    try:
        with foreign("collect"):
            return str(handler.collect(job.request, found, place) or "")
    except StoreError:  # it could not say which outputs there are: no fault of the job type
        raise
    except (JimError, OSError) as error:
        log.warning("%d: the job type's collect step failed: %s", job.id, error)
        if isinstance(error, JimError | FileNotFoundError) or job.wish == Verb.CANCEL:
            return f"nothing was made of the outputs: {error}"
        raise OSError(f"the job type's collect step: {error}") from error  # tried again, until somebody cancels


def _finish(house: House, grid: int, result: Mapping[str, Any]) -> None:
    job = house.store.grid_job(grid)
    counts = house.store.counts(grid)
    outcome, reason = _outcome(job, counts, strict=house.site.site.strict_status)
    if not job.outcome:
        reason = ": ".join(filter(None, (reason, failures(house.store, grid))))
    _end(house, grid, outcome, reason, result)
    log.info("%d: finished as %s %s", grid, outcome.value, reason)


def _end(house: House, grid: int, outcome: State, reason: str, result: Mapping[str, Any]) -> None:
    job = house.store.grid_job(grid)
    if job.place:
        with suppress(OSError):  # what is aged out takes them along
            credentials.remove(house.site.work / job.place)
    wish = job.wish
    with house.store.transaction():
        if not job.place and result:  # it was never split
            house.store.set_grid_job(grid, place=Path(result["tar"]).parent.parent.name)
        if wish == Verb.CANCEL and outcome is not State.COMPLETED:
            kept = wish
        else:  # what is over is neither suspended nor cancelled
            kept = ""
            if wish and wish != Verb.RESUME:
                house.store.note(grid, f"{wish} changes nothing", Witness.KEEPER, f"it has {outcome.value}")
        told = {"outcome": outcome.value, "reason": reason, "result": result, "wish": kept}
        house.store.set_grid_job(grid, step=Step.FINISHED, **told)


def _outcome(job: GridJob, counts: Mapping[State, int], *, strict: bool) -> tuple[State, str]:
    """Say how a grid job ended as a whole, and why if not well."""
    if job.outcome:  # a split that failed
        return State(job.outcome), job.reason
    bad = {state: counts.get(state, 0) for state in (State.FAILED, State.KILLED, State.NEW)}
    of_all = f"of {job.size:,} local job{'' if job.size == 1 else 's'}"
    words = {State.NEW: "never sent"}
    reason = ", ".join(f"{count:,} {of_all} {words.get(state, state.value)}" for state, count in bad.items() if count)
    if job.wish == Verb.CANCEL and (reason or not job.size):  # else it came too late: all had completed
        outcome = State.FAILED if bad[State.FAILED] else State.KILLED
        return outcome, f"cancelled{': ' if reason else ''}{reason}"
    if bad[State.NEW] and not bad[State.FAILED]:
        return State.FAILED, reason
    return roll_up(counts, strict=strict), reason


def _not_gathered(house: House, job: GridJob, error: BaseException) -> None:
    """Keep trying what a full disk or a late file prevents; the reason is shown meanwhile. A cancel ends it."""
    if isinstance(error, Outdated | StoreError) or not isinstance(error, JimError | OSError):
        raise error
    log.warning("%d: collecting failed: %s", job.id, error)
    with suppress(OSError):
        (house.directory(job.id) / "result" / f".{job.id}.tar").unlink()
    if job.wish == Verb.CANCEL and isinstance(error, JimError | FileNotFoundError):  # the outputs are spoilt
        reason = f"cancelled: {error}"
        _end(house, job.id, State.KILLED, reason, {})
        return
    tries = job.tries + 1
    due = house.clock.steady() + delay(AGAIN, tries)
    house.store.set_grid_job(job.id, tries=tries, due=due, reason=f"collecting: {error}")
    if tries == 1:
        house.store.note(job.id, "collecting failed, will be tried again", Witness.KEEPER, str(error))

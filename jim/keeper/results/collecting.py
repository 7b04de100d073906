"""Gathers the outputs of a grid job into one tar, once all of its local jobs have ended."""

from __future__ import annotations

import logging
import os
import shutil
import stat
from collections.abc import Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from jim.doors import inbox
from jim.errand import Errand
from jim.errors import JimError, StoreError
from jim.files import for_children, held, sync_directory
from jim.handlers.base import Result, published_by
from jim.jobs import GridJob
from jim.keeper.attempts.publishing import element
from jim.keeper.keeper import Keeper
from jim.keeper.looks import AT_ONCE, JUDGED
from jim.keeper.reasons import NEVER_SENT
from jim.keeper.results import lost_outputs
from jim.keeper.results.packing import LEAN, SpoiltOutputs, completed_in, fill
from jim.keeper.workers import NEVER
from jim.model import FROZEN, State, Step, Verb, Witness, roll_up
from jim.plugins import foreign
from jim.request import handler_of
from jim.statusdb.published import NAME
from jim.statusdb.seen.record import failures
from jim.statusdb.store import Store
from jim.workdir import credentials
from jim.workdir.pinned import pinned
from jim.workdir.submission import own_directory
from jim.workdir.tar import Tar

log = logging.getLogger(__name__)
RESULT = "result"  # in a grid job's directory: that of the tar
UNSPLIT = (Step.ACCEPTED, Step.RESOLVED)  # a restore sets RESOLVED back to ACCEPTED
BEFORE = (*UNSPLIT, Step.SPLIT, Step.ACTIVE)
FEW = 100  # local jobs: about 1 ms of the loop


def collect(keeper: Keeper, job: GridJob) -> float:
    """Gather the outputs of a grid job whose local jobs have all ended, and finish it."""
    if is_unsent(job) and _all_ended(keeper, job):
        finish(keeper, job.id, {})
        return AT_ONCE
    if job.step in BEFORE and _all_ended(keeper, job):
        # A black hole may have eaten some.
        if keeper.store.counts(job.id).get(State.FAILED) and keeper.hosts.hold_up(job.id):
            return keeper.looks.wait_for(JUDGED, job.id)
        job = _begun(keeper, job)
    if job.step is not Step.COLLECTING:
        keeper.lost.spoilt.pop(job.id, None)
        return NEVER
    if (found := keeper.lost.spoilt.get(job.id)) and found.problems and (found.sure or not found.had_time):
        return lost_outputs.look(keeper, job)
    failed = partial(_not_gathered, keeper, job)
    work, done = partial(_gather, keeper, job), partial(finish, keeper, job.id)
    return keeper.workers.start(Errand(("collect", job.id), work, done, failed, grid=job.id))


def _begun(keeper: Keeper, job: GridJob) -> GridJob:
    """Store that collecting begins, and return the grid job as it is then."""
    with keeper.store.transaction():
        if job.step in UNSPLIT:
            keeper.store.empty(job.id)  # drop the pieces of a split that was cancelled
        keeper.store.set_grid_job(job.id, step=Step.COLLECTING)
    return keeper.store.grid_job(job.id)


def is_unsent(job: GridJob) -> bool:
    """Tell whether nothing of a cancelled grid job was sent: it has no outputs, and so it gets no tar."""
    return job.wish == Verb.CANCEL and job.step in (Step.SPLIT, Step.ACTIVE) and not job.submissions


def end_unsent(keeper: Keeper, job: GridJob) -> bool:
    """End a cancelled grid job of which nothing was sent, unless it is too large to do so at once; tell whether."""
    ended = keeper.store.end_waiting(job.id, NEVER_SENT, FEW)
    if 0 < ended == job.size:  # mostly; thousands may be cancelled at once, so nothing is read again
        _finish_as(keeper, job, {State.KILLED: ended}, NEVER_SENT.words, {})
        return True
    if ended < FEW and _all_ended(keeper, job):
        _finish(keeper, job, {})
        return True
    return False


def _all_ended(keeper: Keeper, job: GridJob) -> bool:
    if job.step in UNSPLIT:  # nothing was sent yet: only a cancel or a failed split ends it here
        # A split that still runs comes too late, and may never end; but what looks it up makes its directory.
        splits = job.step is Step.RESOLVED or not keeper.workers.busy(("split", job.id))
        return bool(job.outcome) or (job.wish == Verb.CANCEL and splits)
    return all(state.final for state in keeper.store.counts(job.id))


def _gather(keeper: Keeper, job: GridJob) -> Mapping[str, Any]:
    """Write the tar and let the handler add its picture. Runs in a worker, with its own reader of the store."""
    keeper.hold.reach()
    own = keeper.site.work / (job.place or own_directory(keeper.site.work, job, unsent=True))
    with suppress(FileExistsError):
        own.mkdir(mode=0o700)
    try:
        return _gather_in(keeper, job, own)
    except SpoiltOutputs:  # the directory may be away; an empty one in its place would keep it from coming back
        with suppress(OSError):
            if [each.name for each in own.iterdir()] == [RESULT]:
                (own / RESULT).rmdir()
                own.rmdir()
        raise


def _gather_in(keeper: Keeper, job: GridJob, own: Path) -> Mapping[str, Any]:
    """Open the directory of the result, whatever stands in its place, and gather into it."""
    with held(own) as here:
        _clear(here / RESULT, wants_directory=True)
        with suppress(FileExistsError):
            (here / RESULT).mkdir(mode=0o700)
        with held(here / RESULT) as place:
            return _gathered(keeper, job, own, place)


def _clear(path: Path, *, wants_directory: bool = False) -> None:
    """Remove what JIM does not make there: a payload has put it there, and a link may lead anywhere."""
    with suppress(FileNotFoundError):
        is_directory = stat.S_ISDIR(path.lstat().st_mode)
        if is_directory and not wants_directory:
            shutil.rmtree(path)
        elif wants_directory and not is_directory:
            path.unlink()


def _gathered(keeper: Keeper, job: GridJob, own: Path, place: Path) -> Mapping[str, Any]:
    """Write the tar into the opened directory of the result, and return what is told of it."""
    tar = place / f"{job.id}.tar"
    temporary = tar.with_name(f".{tar.name}")
    for each in (tar, temporary):
        _clear(each)
    with closing(keeper.store.reader()) as store:
        temporary.unlink(missing_ok=True)  # never into a file that somebody has linked there
        with temporary.open("xb") as file:
            try:
                packed = fill(Tar(file), own, job, store, keeper.site, keeper.lost.left_out.get(job.id, ()))
            except SpoiltOutputs:
                temporary.unlink()
                raise
            file.flush()
            os.fsync(file.fileno())
        line = _let_handler_collect(keeper, job, store, own, place) if packed.completed else ""
    temporary.rename(tar)
    sync_directory(place)
    keeper.hold.reach()  # so that the tar is not in an empty mount point of the work directory
    size = tar.stat().st_size
    beside = sorted(each.name for each in place.iterdir() if not each.name.startswith(".") and each != tar)
    before = (job.result or {}).get("submissions", 0)  # a tar without outputs delivers none
    delivered = before if job.request.get("tar") == LEAN else job.submissions
    counts = {"local_jobs": packed.completed, "unfinished": packed.unfinished, "submissions": delivered}
    counts |= {"lost": packed.lost} if packed.lost else {}
    return {"tar": str(own / RESULT / tar.name), "bytes": size, **counts, "beside": beside, "line": line}


def _let_handler_collect(keeper: Keeper, job: GridJob, store: Store, own: Path, place: Path) -> str:
    """Let the job type add its picture; if that fails, the tar stays valid."""
    handler = handler_of(job.job_type, keeper.site.site.handlers)
    claims = completed_in(store, own, job.id)
    found = (Result(each.n, each.directory, tuple(o.name for o in each.record.files)) for each in claims)
    try:
        with foreign("collect"):
            line = str(handler.collect(job.request, found, for_children(place)) or "")
        for key, element in published_by(handler).items():
            _publish(keeper, job.id, key, element)
        return line
    except StoreError:  # the list of outputs could not be read: no fault of the job type
        raise
    except (JimError, OSError) as error:
        log.warning("%d: the job type's collect step failed: %s", job.id, error)
        if isinstance(error, JimError | FileNotFoundError) or job.wish == Verb.CANCEL:
            return f"the job type could not use the outputs: {error}"
        raise OSError(f"the job type's collect step: {error}") from error  # tried again until a cancel


def _publish(keeper: Keeper, grid: int, key: str, text: str) -> None:
    """Leave a publication of the job type in the inbox: it is taken in like those of people."""
    if not NAME.fullmatch(key):
        raise JimError(f"{key!r} is no name of a publication: up to 40 letters, digits, _ and -")
    element(key, text)
    inbox.wish(keeper.site.state, Verb.PUBLISH, str(grid), name=key, content=text)


def finish(keeper: Keeper, grid: int, result: Mapping[str, Any]) -> None:
    """Store how a grid job ended; without a result, there is no tar."""
    keeper.lost.left_out.pop(grid, None)
    keeper.lost.spoilt.pop(grid, None)
    _finish(keeper, keeper.store.grid_job(grid), result)


def _finish(keeper: Keeper, job: GridJob, result: Mapping[str, Any]) -> None:
    counts = keeper.store.counts(job.id)
    _finish_as(keeper, job, counts, "" if job.outcome else failures(keeper.store, job.id), result)


def _finish_as(keeper: Keeper, job: GridJob, counts: Mapping[State, int], why: str, result: Mapping[str, Any]) -> None:
    outcome, reason = _outcome(job, counts, strict=keeper.site.site.strict_status)
    reason = ": ".join(filter(None, (reason, why)))
    if lost := result.get("lost"):
        words = f"outputs of {lost:,} completed local job{'s' if lost > 1 else ''} are gone, and not in this tar"
        reason = "; ".join(filter(None, (reason, f"{words}: an earlier tar had them, or a task has stored them")))
    _end(keeper, job, outcome, reason, result)
    log.info("%d: finished as %s %s", job.id, outcome.value, reason)


def _end(keeper: Keeper, job: GridJob, outcome: State, reason: str, result: Mapping[str, Any]) -> None:
    if job.place:
        with suppress(OSError):  # else aging removes the directories
            credentials.remove(keeper.site.work / job.place)
    wish = job.wish
    with keeper.store.transaction():
        if not job.place and result:  # the grid job was never split
            keeper.store.set_grid_job(job.id, place=Path(result["tar"]).parent.parent.name)
        if wish == Verb.CANCEL and outcome is not State.COMPLETED:
            kept = wish
        else:  # a finished grid job is neither suspended nor cancelled
            kept = ""
            if wish and wish != Verb.RESUME:
                keeper.store.note(job.id, f"{wish} changes nothing", Witness.KEEPER, f"already {outcome.value}")
        told = {"outcome": outcome.value, "reason": reason, "result": result, "wish": kept}
        keeper.store.set_grid_job(job.id, step=Step.FINISHED, **told)


def _outcome(job: GridJob, counts: Mapping[State, int], *, strict: bool) -> tuple[State, str]:
    """Return how a grid job ended as a whole, and the reason if it did not end well."""
    if job.outcome:  # a split that failed
        return State(job.outcome), job.reason
    bad = {state: counts.get(state, 0) for state in (State.FAILED, State.KILLED, State.NEW)}
    of_all = f"of {job.size:,} local job{'' if job.size == 1 else 's'}"
    words = {State.NEW: "never sent"}
    reason = ", ".join(f"{count:,} {of_all} {words.get(state, state.value)}" for state, count in bad.items() if count)
    if job.wish == Verb.CANCEL and (reason or not job.size):  # else the cancel came too late: all had completed
        outcome = State.FAILED if bad[State.FAILED] else State.KILLED
        return outcome, f"cancelled{': ' if reason else ''}{reason}"
    if bad[State.NEW] and not bad[State.FAILED]:
        return State.FAILED, reason
    if job.size and not any(count for state, count in counts.items() if state not in FROZEN):
        return _frozen(job)
    return roll_up(counts, strict=strict), reason


def _frozen(job: GridJob) -> tuple[State, str]:
    """Return how a grid job ended of which no local job counts any more: its task has released or recovered them."""
    outcome = State.KILLED if job.wish == Verb.CANCEL else State.FAILED
    return outcome, "none of its local jobs counts any more: others do their work"


def _not_gathered(keeper: Keeper, job: GridJob, error: BaseException) -> None:
    """Try again after a full disk or a late file, and show the reason meanwhile. A cancel ends the tries."""
    with suppress(OSError), pinned(keeper.directory(job.id) / RESULT) as place:
        (place / f".{job.id}.tar").unlink()
    if isinstance(error, SpoiltOutputs):
        lost_outputs.note(keeper, job, error)
        return
    log.warning("%d: collecting failed: %s", job.id, error)
    if job.wish == Verb.CANCEL and isinstance(error, JimError | FileNotFoundError):  # the outputs will not become valid
        reason = f"cancelled: {error}"
        _end(keeper, keeper.store.grid_job(job.id), State.KILLED, reason, {})
        return
    told = keeper.next_try(("collect", job.id))
    keeper.store.set_grid_job(job.id, **told, reason=f"collecting: {error}")
    if told["tries"] == 1:
        keeper.store.note(job.id, "collecting failed, will be tried again", Witness.KEEPER, str(error))

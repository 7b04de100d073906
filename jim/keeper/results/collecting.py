"""Gathers the outputs of a grid job into one tar, once all of its local jobs have ended."""

from __future__ import annotations

import logging
import os
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
from jim.files.trees import remove_tree
from jim.handlers.base import Result, published_by
from jim.jobs import GridJob
from jim.keeper.attempts.publishing import element
from jim.keeper.keeper import Keeper
from jim.keeper.looks import AT_ONCE, JUDGED
from jim.keeper.results import lost_outputs
from jim.keeper.results.finishing import UNSPLIT, all_ended, end, finish, is_unsent
from jim.keeper.results.packing import LEAN, SpoiltOutputs, completed_in, fill
from jim.keeper.workers import NEVER
from jim.model import State, Step, Verb, Witness
from jim.request import handler_of
from jim.statusdb.published import NAME
from jim.statusdb.store import Store
from jim.trust.plugins import foreign
from jim.workdir.pinned import pinned
from jim.workdir.submission import own_directory
from jim.workdir.tar import Tar

log = logging.getLogger(__name__)
RESULT = "result"  # in a grid job's directory: that of the tar
BEFORE = (*UNSPLIT, Step.SPLIT, Step.ACTIVE)


def collect(keeper: Keeper, job: GridJob) -> float:
    """Gather the outputs of a grid job whose local jobs have all ended, and finish it."""
    if is_unsent(job) and all_ended(keeper, job):
        finish(keeper, job.id, {})
        return AT_ONCE
    if job.step in BEFORE and all_ended(keeper, job):
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
            remove_tree(path)
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
        end(keeper, keeper.store.grid_job(job.id), State.KILLED, reason, {})
        return
    columns = keeper.next_try(("collect", job.id))
    keeper.store.set_grid_job(job.id, **columns, reason=f"collecting: {error}")
    if columns["tries"] == 1:
        keeper.store.note(job.id, "collecting failed, will be tried again", Witness.KEEPER, str(error))

"""Turns an accepted request into stored local jobs."""

from __future__ import annotations

import errno
import itertools
import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TypeVar

from jim.doors.contract import DEFAULT
from jim.errand import Errand
from jim.errors import BadRequest, JimError, UnknownJob
from jim.jobs import GridJob, Used
from jim.keeper.keeper import Keeper
from jim.keeper.workers import NEVER
from jim.model import Piece, State, Step, Verb, Witness
from jim.request import handler_of
from jim.site.file import Site
from jim.site.realm import opener_of
from jim.splitting import split as pieces_of
from jim.statusdb.pieces import pieces_in, pieces_text
from jim.work.catalogue import NotReadable
from jim.work.learning import MOST, with_learned, with_learned_bundle
from jim.work.lookup import Resolved
from jim.work.lookup import resolve as resolved
from jim.work.pieces import herd_of, within_limits
from jim.workdir.claims import fence
from jim.workdir.submission import is_owned, jobs_file_in, own_directory, prepare_grid_job, submissions_in

T = TypeVar("T")
log = logging.getLogger(__name__)
STORED_AT_ONCE = 2_500
LONGEST_REQUEST = 100_000  # characters; one that is sized by its events is short
LOOK_AGAIN_SECONDS = 0.5  # while an earlier generation of its key is alive
LARGEST_CHUNK = 20_000_000  # characters: arguments may be long, and SQLite takes a gigabyte at most


def resolve(keeper: Keeper, job: GridJob) -> float:
    """Look up the data that an accepted grid job names, set its size and make its directory."""
    if job.step is not Step.ACCEPTED or job.wish or job.outcome:
        return NEVER
    if not _is_next(keeper, job):
        return keeper.clock.boot() + LOOK_AGAIN_SECONDS
    keeper.hold.expect(keeper.store)
    work = partial(_resolve, keeper, job, _used(keeper, job))
    return keeper.workers.start(_errand(keeper, job, work, partial(_resolved, keeper, job)))


def _used(keeper: Keeper, job: GridJob) -> Sequence[Used]:
    """Return what completed local jobs of the same kind have used; nothing for a request without events of its own."""
    if job.splitter or len(job.request_text) > LONGEST_REQUEST:
        return ()
    return keeper.store.completed.used(job.job_type, str(job.request.get("request_id") or ""), MOST)


def _is_next(keeper: Keeper, job: GridJob) -> bool:
    """Tell whether nothing can live of the grid job that had its key before: that one has finished, or is removed."""
    after = keeper.store.at_doors.of(job.id).after
    try:
        return not after or keeper.store.grid_job(after).step is Step.FINISHED
    except UnknownJob:
        return True


def _errand(keeper: Keeper, job: GridJob, work: Callable[[], T], done: Callable[[T], None]) -> Errand[T]:
    """Return an errand for one step of a request; any exception from the code of a job type fails the grid job."""
    failed = partial(_failed, keeper, job)
    of_site = "." in job.job_type + job.splitter or bool(keeper.site.site.steps)  # whose code may hang
    return Errand(("split", job.id), work, done, failed, source=of_site, grid=job.id, heeds=(BaseException,))


def _resolve(keeper: Keeper, job: GridJob, used: Sequence[Used]) -> tuple[Resolved, dict[str, str]]:
    keeper.hold.reach()
    handler = handler_of(job.job_type, keeper.site.site.handlers)
    whole = with_learned(handler, resolved(handler, job.request, keeper.site), keeper.site, used)
    if keeper.site.limits.bundle_seconds:
        with closing(keeper.store.reader()) as store:
            whole = with_learned_bundle(handler, whole, keeper.site, store.completed.seconds(whole.request, MOST))
    place = own_directory(keeper.site.work, job)
    _refuse_what_was_sent(keeper.site.work / place)
    opener, sharing = opener_of(keeper.site, job.realm), partial(_sharing, keeper, job)
    prepare_grid_job(keeper.site, keeper.site.work / place, handler, whole.request, opener, sharing)
    _see_again(keeper, job, keeper.site.work / place)
    more = {"request": json.dumps(whole.request)} if whole.facts else {}  # here, as it may be large
    return whole, {"place": place, **more}


def _sharing(keeper: Keeper, job: GridJob) -> str:
    """Return the words that grid jobs have in common which may share an input package; empty: the account's own."""
    with closing(keeper.store.reader()) as store:
        sender = store.senders.of(job.id)
    if not sender.dn and (sender.contact or job.door not in ("", DEFAULT)):  # nobody knows whose it is
        return f"grid job {job.id}"
    return sender.counted_as


def _see_again(keeper: Keeper, job: GridJob, place: Path) -> None:
    """Check that a directory was made in the work directory, and not in its empty mount point."""
    keeper.hold.reach()
    if not is_owned(place, job):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(place))


def _refuse_what_was_sent(place: Path) -> None:
    """Refuse a grid job whose sent local jobs the store does not know, as after a restore.

    A new split might differ, and its local jobs would run beside the old ones. Fences stop all that have not started.
    """
    there = submissions_in(place)
    for directory in there.values():
        record = jobs_file_in(directory)
        fence(directory, record.attempts if record else ())
    if there:
        raise JimError(
            f"local jobs were sent before the state directory was restored: see {place}, then hand in a new request"
        )


def _resolved(keeper: Keeper, job: GridJob, done: tuple[Resolved, dict[str, str]]) -> None:
    """Store all findings in one transaction: after a kill either all of them are stored or none."""
    found, more = done
    with keeper.store.transaction():
        if found.facts:
            keeper.store.note(job.id, "looked up", Witness.KEEPER, found.facts)
        events, why = found.size.events_per_job, found.size.why
        keeper.store.set_grid_job(job.id, step=Step.RESOLVED, events_per_job=events, why=why, reason="", **more)
    if more["place"] != str(job.id):
        keeper.hold.places[job.id] = more["place"]
        log.warning(
            "%d: works in %s, as %d in the work directory belongs to another grid job", job.id, more["place"], job.id
        )


def split(keeper: Keeper, job: GridJob) -> float:
    """Split a resolved grid job into local jobs; a split that a dead keeper left half done starts anew."""
    if job.step is not Step.RESOLVED or job.wish or job.outcome:
        return NEVER
    if keeper.workers.ready(("split", job.id)):
        keeper.store.empty(job.id)
    return _split_on(keeper, job, _Pieces(keeper, job))


class _Pieces:
    """The stream of pieces from a handler or splitter, which workers take in chunks."""

    def __init__(self, keeper: Keeper, job: GridJob) -> None:
        self._stream = _pieces(keeper.site, job)
        self.stored, self.torn = 0, False

    def chunk(self) -> tuple[list[Piece], bool]:
        """Return the next pieces, fewer if pieces are large, and whether these are the last."""
        first = next(self._stream, None)
        if first is None:
            return [], True
        alike = max(1, LARGEST_CHUNK // len(pieces_text({0: first})))  # most are of about one size
        most = min(alike, STORED_AT_ONCE)
        found = [first, *itertools.islice(self._stream, most - 1)]
        return found, len(found) < most


def _pieces(site: Site, job: GridJob) -> Iterator[Piece]:
    """Yield the pieces of a grid job; the request may be large, so it is read only with the first piece."""
    handler = handler_of(job.job_type, site.site.handlers)
    if job.is_of_task:
        yield from pieces_in(job.request["pieces"])
        return
    if job.splitter:
        herd = herd_of(handler, job.request, job.id, site.site, site.limits.local_jobs)
        stream = within_limits(herd, handler, job.request, site)
    else:
        balanced = bool(job.request.get("balanced"))
        stream = pieces_of(handler.work(job.request), job.events_per_job, balanced=balanced)
    yield from itertools.islice(stream, 1) if job.request.get("test") == "yes" else stream


def _split_on(keeper: Keeper, job: GridJob, pieces: _Pieces) -> float:
    return keeper.workers.start(_errand(keeper, job, pieces.chunk, partial(_store, keeper, job, pieces)))


def _store(keeper: Keeper, job: GridJob, pieces: _Pieces, found: tuple[list[Piece], bool]) -> None:
    chunk, last = found
    if pieces.torn:
        return  # the pieces before could not be stored: the next round splits anew
    if _too_late(keeper, job):
        return  # the stored pieces do not count yet, and are dropped
    if not chunk and not pieces.stored:
        _failed(keeper, job, BadRequest(f"job type {job.job_type} makes no local job of this request"))
        return
    if last:
        _store_last(keeper, job, pieces.stored, chunk)
        return
    _split_on(keeper, job, pieces)  # first: a worker makes the next pieces while these are stored
    pieces.torn = True
    keeper.store.add_pieces(job.id, pieces.stored, chunk)
    pieces.torn = False
    pieces.stored += len(chunk)


def _too_late(keeper: Keeper, job: GridJob) -> bool:
    """Tell whether a cancel has ended a grid job, or is about to, while a worker was still at it."""
    try:
        now = keeper.store.grid_job(job.id)
    except UnknownJob:  # it was removed, too
        return True
    return now.wish == Verb.CANCEL or now.step is not job.step


def _store_last(keeper: Keeper, job: GridJob, stored: int, chunk: list[Piece]) -> None:
    """Store the last pieces and the end of the split in one transaction."""
    size = stored + len(chunk)
    with keeper.store.transaction():
        keeper.store.add_pieces(job.id, stored, chunk)
        keeper.store.end_split(job.id, size)
        if job.is_of_task:  # the local jobs have them now, and the request is read again and again
            kept = {name: value for name, value in job.request.items() if name != "pieces"}
            keeper.store.set_grid_job(job.id, request=json.dumps(kept))
        failed = keeper.store.counts(job.id).get(State.FAILED, 0)
        if failed:
            what = f"{failed:,} of {size:,} local jobs can never run"
            keeper.store.note(job.id, "failed on creation", Witness.KEEPER, what)
    log.info("%d: split into %d local jobs, of which %d have failed on creation", job.id, size, failed)


def _failed(keeper: Keeper, job: GridJob, error: BaseException) -> None:
    """Try again after a full disk or an unreachable catalogue.

    Any other error fails the grid job, without any pieces of the split.
    """
    if _too_late(keeper, job):
        return
    if isinstance(error, OSError | NotReadable):
        keeper.store.set_grid_job(job.id, **keeper.next_try(("split", job.id)), reason=str(error))
        return
    reason = str(error) if isinstance(error, JimError) else f"{type(error).__name__}: {error}"
    log.error("%d: cannot be split: %s", job.id, reason)
    with keeper.store.transaction():
        keeper.store.empty(job.id)
        keeper.store.set_grid_job(job.id, outcome=State.FAILED.value, reason=f"cannot be split: {reason}")

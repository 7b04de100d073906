"""From an accepted request to stored local jobs."""

from __future__ import annotations

import errno
import itertools
import json
import logging
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from jim.errors import BadRequest, JimError, Outdated
from jim.idealizer.retry import AGAIN, delay
from jim.jobs import GridJob
from jim.keeper.keeper import House
from jim.model import Piece, State, Step, Verb, Witness
from jim.request import handler_of
from jim.site.file import Site
from jim.splitting import split as pieces_of
from jim.statusdb.pieces import pieces_text
from jim.work.catalogue import NotReadable
from jim.work.lookup import Resolved
from jim.work.lookup import resolve as resolved
from jim.work.pieces import herd_of, within_limits
from jim.workdir.submission import fence, is_owned, own_directory, prepare_grid_job, submissions_in, told_in

log = logging.getLogger(__name__)
STORED_AT_ONCE = 2_500
LARGEST_CHUNK = 20_000_000  # characters: arguments may be long, and SQLite takes a gigabyte at most


def resolve(house: House) -> None:
    """Look up what accepted grid jobs name, size them and make their directories."""
    for job in house.store.grid_jobs(Step.ACCEPTED):
        name = ("split", job.id)
        if job.wish or job.outcome or house.clock.steady() < job.due or house.workers.busy(name):
            continue
        house.hold.expect(house.store)
        house.workers.start(
            name, partial(_resolve, house, job), partial(_resolved, house, job), partial(_failed, house, job)
        )


def _resolve(house: House, job: GridJob) -> tuple[Resolved, dict[str, str]]:
    house.hold.reach()
    handler = handler_of(job.job_type, house.site.site.handlers)
    found = resolved(handler, job.request, house.site)
    place = own_directory(house.site.work, job)
    _refuse_what_was_sent(house.site.work / place)
    prepare_grid_job(house.site, house.site.work / place, handler, found.request)
    _see_again(house, job, house.site.work / place)
    more = {"request": json.dumps(found.request)} if found.facts else {}  # here, as it may be large
    return found, {"place": place, **more}


def _see_again(house: House, job: GridJob, place: Path) -> None:
    """See that a directory was made where the work directory is, and not where it is to be mounted."""
    house.hold.reach()
    if not is_owned(place, job):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(place))


def _refuse_what_was_sent(place: Path) -> None:
    """Refuse a grid job of which local jobs were sent that the store does not know, as after a restore.

    It might be split otherwise now, and its pieces be done beside those that run. What has not started never will.
    """
    there = submissions_in(place)
    for directory in there.values():
        told = told_in(directory)
        fence(directory, told.attempts if told else ())
    if there:
        raise JimError(
            f"it was split and sent before the state directory was restored: see {place}, then hand it in anew"
        )


def _resolved(house: House, job: GridJob, done: tuple[Resolved, dict[str, str]]) -> None:
    """Store all that was found at once: after a kill nothing of it is there, or everything."""
    found, more = done
    with house.store.transaction():
        if found.facts:
            house.store.note(job.id, "looked up", Witness.KEEPER, found.facts)
        events, why = found.size.events_per_job, found.size.why
        house.store.set_grid_job(job.id, step=Step.RESOLVED, events_per_job=events, why=why, reason="", **more)
    if more["place"] != str(job.id):
        house.places[job.id] = more["place"]
        log.warning(
            "%d: works in %s, for %d in the work directory is another grid job's", job.id, more["place"], job.id
        )


def split(house: House) -> None:
    """Cut resolved grid jobs into local jobs; what a dead keeper left half split is split again."""
    for job in house.store.grid_jobs(Step.RESOLVED):
        name = ("split", job.id)
        if job.wish or job.outcome or house.clock.steady() < job.due or house.workers.busy(name):
            continue
        house.store.empty(job.id)
        _split_on(house, job, _Pieces(house, job))


class _Pieces:
    """A handler's or a splitter's pieces as a stream, taken in chunks by workers."""

    def __init__(self, house: House, job: GridJob) -> None:
        self._stream = _pieces(house.site, job)
        self.stored, self.torn = 0, False

    def chunk(self) -> list[Piece]:
        """Give the next pieces, fewer of large ones; none when there are no more."""
        first = next(self._stream, None)
        if first is None:
            return []
        alike = max(1, LARGEST_CHUNK // len(pieces_text({0: first})))  # most are of about one size
        return [first, *itertools.islice(self._stream, min(alike, STORED_AT_ONCE) - 1)]


def _pieces(site: Site, job: GridJob) -> Iterator[Piece]:
    """Give the pieces of a grid job; even its request, which may be large, is read only when they are asked for."""
    handler = handler_of(job.job_type, site.site.handlers)
    if job.splitter:
        herd = herd_of(handler, job.request, job.id, site.site.name, site.limits.local_jobs)
        stream = within_limits(herd, handler, job.request, site)
    else:
        balanced = bool(job.request.get("balanced"))
        stream = pieces_of(handler.work(job.request), job.events_per_job, balanced=balanced)
    yield from itertools.islice(stream, 1) if job.request.get("test") == "yes" else stream


def _split_on(house: House, job: GridJob, pieces: _Pieces) -> None:
    name = ("split", job.id)
    house.workers.start(name, pieces.chunk, partial(_store, house, job, pieces), partial(_failed, house, job))


def _store(house: House, job: GridJob, pieces: _Pieces, chunk: list[Piece]) -> None:
    if pieces.torn:
        return  # the pieces before these could not be stored: the next round splits anew
    if house.store.grid_job(job.id).wish == Verb.CANCEL:
        return  # what is stored does not count yet, and is forgotten
    if not chunk and not pieces.stored:
        _failed(house, job, BadRequest(f"no local job comes of it by job type {job.job_type}"))
        return
    if not chunk:
        with house.store.transaction():
            house.store.end_split(job.id, pieces.stored)
            failed = house.store.counts(job.id).get(State.FAILED, 0)
            if failed:
                what = f"{failed:,} of {pieces.stored:,} local jobs can never run"
                house.store.note(job.id, "failed on creation", Witness.KEEPER, what)
        log.info("%d: split into %d local jobs, of which %d have failed on creation", job.id, pieces.stored, failed)
        return
    _split_on(house, job, pieces)  # first, for while these are stored the next can be made
    pieces.torn = True
    house.store.add_pieces(job.id, pieces.stored, chunk)
    pieces.torn = False
    pieces.stored += len(chunk)


def _failed(house: House, job: GridJob, error: BaseException) -> None:
    """Try again what a full disk, or a catalogue out of reach, has prevented.

    For what never gets better the grid job fails, with nothing half split.
    """
    if isinstance(error, Outdated):
        raise error
    tries = job.tries + 1
    if isinstance(error, OSError | NotReadable):
        due = house.clock.steady() + delay(AGAIN, tries)
        house.store.set_grid_job(job.id, tries=tries, due=due, reason=str(error))
        return
    reason = str(error) if isinstance(error, JimError) else f"{type(error).__name__}: {error}"
    log.error("%d: cannot be split: %s", job.id, reason)
    with house.store.transaction():
        house.store.empty(job.id)
        house.store.set_grid_job(job.id, outcome=State.FAILED.value, reason=f"cannot be split: {reason}")

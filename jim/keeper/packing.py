"""Fills the tar of a grid job: the summary, and then everything in one pass over the local jobs."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import starmap
from operator import ne
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

from jim.errors import JimError
from jim.files import open_regular
from jim.jobs import GridJob
from jim.keeper.enclosed import Enclosure
from jim.keeper.naming import Naming
from jim.keeper.unfinished import Unfinished
from jim.keeper.verifying import Claimed, claimed_by
from jim.model import State
from jim.site.file import Site
from jim.statusdb.contract import Store
from jim.workdir.tar import Tar
from jim.workdir.verified import BLOCK, is_executable, verified

SUMMARY = "summary.json"  # the first file of each tar
LEAN = "summary"  # a tar without outputs of completed local jobs
UNFINISHED = (State.FAILED.value, State.KILLED.value)


class Packed(NamedTuple):
    """What is in a tar."""

    completed: int  # local jobs
    unfinished: int  # failed and killed local jobs that have left anything


def fill(tar: Tar, place: Path, job: GridJob, store: Store, site: Site) -> Packed:
    """Fill the tar: the summary, outputs of completed local jobs, what others have left, what JIM knows of all."""
    with _summary(job, store, place / "result") as summary:
        tar.add(SUMMARY, summary.seek(0, os.SEEK_END), _blocks(summary))
    lean = job.request.get("tar") == LEAN
    completed, unfinished, naming = 0, Unfinished(tar, store, place, job), Naming(job, site.site.handlers, store)
    with Enclosure(store, job, place / "result") as enclosure:
        for ended in store.ended(job.id):
            claimed = claimed_by(place, job.id, ended) if ended.record else None
            if claimed and ended.state == State.COMPLETED.value:
                more = {} if lean else _add(tar, claimed, naming)
                completed += 1
            else:
                more = unfinished.add(ended) if ended.state in UNFINISHED else {}
            enclosure.tell(ended, claimed.record if claimed else None, more)
        enclosure.put(tar, site.state)
    tar.end()
    return Packed(completed, unfinished.count)


def completed_in(store: Store, place: Path, grid: int) -> Iterator[Claimed]:
    """Yield the outputs of completed local jobs, by the exit records of their last attempts."""
    for ended in store.ended(grid):
        if ended.record and ended.state == State.COMPLETED.value:
            yield claimed_by(place, grid, ended)


@contextmanager
def _summary(job: GridJob, store: Store, place: Path) -> Iterator[IO[bytes]]:
    """Make a nameless file with the summary: there may be too many local jobs for memory."""
    with TemporaryFile(dir=place) as file:
        file.writelines(_lines(job, store))
        yield file


def _lines(job: GridJob, store: Store) -> Iterator[bytes]:
    facts = {"id": job.id, "key": job.key, "type": job.job_type, "request": job.public_request}
    begin, _, end = json.dumps({**facts, "local_jobs": [None]}, indent=1).rpartition("\n  null")
    yield begin.encode()
    number = 0
    for number, each in enumerate(store.ended(job.id, records=False), 1):
        yield b"\n  " if number == 1 else b",\n  "
        told = f'"n": {each.n},\n   "state": "{each.state}",\n   "attempt": {each.attempt},\n   "reason": '
        yield f"{{\n   {told}{json.dumps(each.reason)}\n  }}".encode()
    yield end.encode() if number else b"]\n}"


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    return iter(partial(file.read, BLOCK), b"")


def is_anothers(tar: Path, job: GridJob, store: Store) -> bool:
    """Tell whether a tar differs from the store in local jobs, states or attempts: then it was made after a backup."""
    try:
        with os.fdopen(open_regular(tar), "rb") as file, tarfile.open(fileobj=file, mode="r:") as members:
            first = members.next()
            told = members.extractfile(first) if first and first.name == SUMMARY else None
            if first is None or told is None:
                return True
            with _summary(job, store, tar.parent) as summary:
                differs = first.size != summary.seek(0, os.SEEK_END)
                return differs or any(starmap(ne, zip(_blocks(told), _blocks(summary), strict=True)))
    except FileNotFoundError:  # no outputs are left to make the tar of
        return False
    except tarfile.TarError:
        return True


def _add(tar: Tar, claimed: Claimed, naming: Naming) -> dict[str, Any]:
    """Add a completed local job's outputs; refuse an output that changed after it was verified.

    Return what `jim/summary.json` tells of their names.
    """
    renamed = naming.names(claimed.n, (output.name for output in claimed.record.files))
    for output in claimed.record.files:
        name = f"{claimed.key[0]}.{claimed.n}/{renamed.get(output.name, output.name)}"
        try:
            executable = is_executable(claimed.directory, output)
            tar.add(name, output.size, verified(claimed.directory, output), executable=executable)
        except JimError as error:
            raise JimError(f"output {name} changed after it was verified: {error}") from error
    return {"renamed": renamed} if renamed else {}

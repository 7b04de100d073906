"""Fills the tar of a grid job: the summary, and then everything in one pass over the local jobs."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import starmap
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

from jim.doors.placing import comes_from_tar
from jim.errors import JimError
from jim.evidence.exit_record import Output
from jim.files import open_regular
from jim.jobs import GridJob, Key
from jim.keeper.recorded_outputs import Claimed, Problem, Problems, claimed_by, problem_of
from jim.keeper.results.earlier_tar import EarlierTar
from jim.keeper.results.naming import Naming
from jim.keeper.results.outputs_of_failed import Unfinished, as_own
from jim.keeper.results.tar_summary import Enclosure
from jim.model import State
from jim.site.file import Site
from jim.statusdb.store import Store
from jim.workdir.tar import Tar, headers
from jim.workdir.verified import BLOCK, is_executable, verified

SUMMARY = "summary.json"  # the first file of each tar
LEAN = "summary"  # a tar without outputs of completed local jobs
SHOWN = 3  # local jobs, in a sentence
UNFINISHED = (State.FAILED.value, State.KILLED.value)


class Packed(NamedTuple):
    """What is in a tar."""

    completed: int  # local jobs
    unfinished: int  # failed and killed local jobs that have left anything
    lost: int  # completed local jobs that the tar lacks outputs of, as these count elsewhere


class UnlikeVerified(JimError):
    """What was read is not what was verified: no other trouble, such as that of the database, is one of an output."""


class SpoiltOutputs(JimError):
    """Outputs of completed local jobs that are no longer what was verified, all that there are."""

    def __init__(self, found: Problems) -> None:
        self.found = tuple(found)
        said = "; ".join(starmap(_said, self.found[:SHOWN]))
        more = f"; and outputs of {len(found) - SHOWN:,} more local jobs" if len(found) > SHOWN else ""
        super().__init__(f"{said}{more}")


def _said(claimed: Claimed, problem: Problem) -> str:
    what = f"output {claimed.key[0]}.{claimed.n}/{problem.name}"
    if problem.passes:
        return f"{what} cannot be read: {problem.why}"
    return f"{what} {'is gone' if problem.gone else f'changed after it was verified: {problem.why}'}"


def fill(tar: Tar, place: Path, job: GridJob, store: Store, site: Site, left_out: Container[Key] = ()) -> Packed:
    """Fill the tar: the summary, outputs of completed local jobs, what others have left, what JIM knows of all.

    Raise `SpoiltOutputs` if outputs are not what was verified, except those of the attempts `left_out`.
    """
    with _summary(job, store, place / "result") as summary:
        tar.add(SUMMARY, summary.seek(0, os.SEEK_END), _blocks(summary))
    unfinished, lean = Unfinished(tar, store, place, job), job.request.get("tar") == LEAN and not comes_from_tar(job)
    earlier = EarlierTar(place / "result" / f"{job.id}.tar")
    outputs = Outputs(tar, Naming(job, site.site.handlers, store), earlier, left_out)
    with earlier, Enclosure(store, job, place / "result") as enclosure:
        for ended in store.ended(job.id):
            claimed = claimed_by(place, job.id, ended) if ended.record else None
            if claimed and ended.state == State.COMPLETED.value:
                more = outputs.add(claimed, lean=lean)
            else:
                more = unfinished.add(ended) if ended.state in UNFINISHED and not outputs.spoilt else {}
            enclosure.tell(ended, claimed.record if claimed else None, more)
        if outputs.spoilt:
            raise SpoiltOutputs(outputs.spoilt)
        enclosure.put(tar, site.state)
    tar.end()
    return Packed(outputs.of, unfinished.count, outputs.lost)


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
        text = f'"n": {each.n},\n   "state": "{each.state}",\n   "attempt": {each.attempt},\n   "reason": '
        yield f"{{\n   {text}{json.dumps(each.reason)}\n  }}".encode()
    yield end.encode() if number else b"]\n}"


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    return iter(partial(file.read, BLOCK), b"")


def is_anothers(tar: Path, job: GridJob, store: Store) -> bool:
    """Tell whether a tar differs from the store in local jobs, states or attempts: then it was made after a backup."""
    try:
        with os.fdopen(open_regular(tar), "rb") as file:
            first, _ = next(headers(file), (None, 0))
            if first is None or first.name != SUMMARY or not first.isreg():
                return True
            with _summary(job, store, tar.parent) as summary:
                if first.size != summary.seek(0, os.SEEK_END):
                    return True
                file.seek(first.offset_data)
                return any(file.read(len(block)) != block for block in _blocks(summary))
    except FileNotFoundError:  # no outputs are left to make the tar of
        return False
    except tarfile.TarError:
        return True


class Outputs:
    """Adds the outputs of completed local jobs to a tar; once any are spoilt, there is no tar: then it finds all."""

    def __init__(self, tar: Tar, naming: Naming, earlier: EarlierTar, left_out: Container[Key]) -> None:
        self._tar, self._naming, self._earlier, self._left_out = tar, naming, earlier, left_out
        self.of, self.lost = 0, 0  # local jobs; those of them that are left out and lack outputs
        self.spoilt: list[tuple[Claimed, Problem]] = []

    def add(self, claimed: Claimed, *, lean: bool) -> dict[str, Any]:
        """Add outputs; return what `jim/summary.json` tells of their names, and what is lost."""
        self.of += 1
        problem = None
        if not self.spoilt and not lean:
            try:
                return self._add(claimed)
            except UnlikeVerified as error:
                # Where the second look finds nothing, the file server flaps.
                problem = problem_of(claimed) or Problem("", f"{error}, and no longer", passes=True)
        elif not lean and claimed.key not in self._left_out and (problem := problem_of(claimed)):
            renamed = self._renamed(claimed)
            if all(self._earlier.has(_member(claimed, each, renamed), each) for each in claimed.record.files):
                problem = None
        if problem:
            self.spoilt.append((claimed, problem))
        return {}

    def _renamed(self, claimed: Claimed) -> Mapping[str, str]:
        return self._naming.names(claimed.n, (output.name for output in claimed.record.files))

    def _add(self, claimed: Claimed) -> dict[str, Any]:
        """Add outputs, those that are gone or changed from an earlier tar."""
        renamed, lost = self._renamed(claimed), list[str]()
        for output in claimed.record.files:
            name = _member(claimed, output, renamed)
            executable, content = is_executable(claimed.directory, output), _content(claimed, output)
            try:
                self._tar.add(name, output.size, content, executable=executable)
            except UnlikeVerified as error:
                if self._earlier.add(self._tar, name, output):
                    continue
                if claimed.key not in self._left_out:
                    raise
                lost.append(f"{output.name}: {error}")
        self.lost += bool(lost)
        return ({"renamed": renamed} if renamed else {}) | ({"lost": lost} if lost else {})


def _member(claimed: Claimed, output: Output, renamed: Mapping[str, str]) -> str:
    return f"{claimed.key[0]}.{claimed.n}/{renamed.get(output.name, output.name)}"


def _content(claimed: Claimed, output: Output) -> Iterator[bytes]:
    """Yield an output, and name it where it is none of what was verified."""
    try:
        yield from as_own(verified(claimed.directory, output))
    except JimError as error:
        raise UnlikeVerified(str(error)) from error

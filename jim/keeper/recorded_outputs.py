"""What an attempt's exit record says of its outputs, and what is wrong with them now."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jim.errors import Fault, JimError, as_fault
from jim.evidence.exit_record import ExitRecord, read_exit_record
from jim.files import passes
from jim.jobs import Ended, Key
from jim.workdir.pinned import link_above
from jim.workdir.submission import submission_directory
from jim.workdir.verified import verified


@dataclass(frozen=True, slots=True)
class Claimed:
    """The outputs in an attempt's exit record, and their directory."""

    key: Key
    n: int
    directory: Path
    record: ExitRecord


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with an output: it differs from the claim, or cannot be read at the moment."""

    name: str
    why: str
    passes: bool
    gone: bool = False
    away: bool = False  # all outputs are, with their directory

    @property
    def said(self) -> str:
        """Return what is wrong with which output."""
        return f"{self.name}: {self.why}"


FILE_SERVER_SECONDS = 3600.0  # an output out of reach is not yet bad
Problems = Sequence[tuple[Claimed, Problem]]


@dataclass(frozen=True, slots=True)
class Spoilt:
    """What keeps the tar of a grid job from being made, and since when; no problems: it is to be made again."""

    since: float  # in seconds since boot
    problems: Problems
    had_time: bool = False  # the outputs had their time to come back
    times: int = 1  # that outputs were found spoilt, and came back before
    sure: bool = False  # a second try to make the tar has found these problems, after that time


def claimed_by(place: Path, grid: int, ended: Ended) -> Claimed:
    """Return the outputs in an attempt's exit record."""
    directory = submission_directory(place, ended.k) / f"run.{ended.idx}"
    return Claimed((grid, ended.k, ended.idx), ended.n, directory, read_exit_record(ended.record))


def problem_of(claimed: Claimed) -> Problem | None:
    """Return the problem of the first output that differs from the claim; None if all match."""
    for output in claimed.record.files:
        try:
            with as_fault():  # what one payload has left must not hold up what others have
                deque(verified(claimed.directory, output), maxlen=0)
        except (OSError, JimError) as error:
            if link := link_above(claimed.directory):  # what the outputs are is not known
                return Problem(output.name, str(link), passes=True, away=True)
            gone = isinstance(error, FileNotFoundError | NotADirectoryError)
            away = gone and not os.path.lexists(claimed.directory)
            is_late = isinstance(error, Fault) or (isinstance(error, OSError) and passes(error))
            return Problem(output.name, str(error), is_late, gone, away)
    return None

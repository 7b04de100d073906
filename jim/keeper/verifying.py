"""Compares the outputs of well-ended local jobs with their exit records."""

from __future__ import annotations

import itertools
import logging
import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from jim.errand import Errand
from jim.errors import JimError
from jim.evidence import verdict
from jim.evidence.exit_record import ExitRecord, read_exit_record
from jim.evidence.verdict import Verdict
from jim.files import passes
from jim.jobs import Ended, Key
from jim.keeper import alike, judging
from jim.keeper.keeper import Keeper
from jim.workdir.submission import submission_directory
from jim.workdir.verified import verified

log = logging.getLogger(__name__)
VERIFY, VERIFIED_AT_ONCE = "verify", 200
FILE_SERVER_SECONDS, LOOK_AGAIN_SECONDS = 3600.0, 10.0  # an output out of reach is not yet bad
AWAY_SECONDS = 60.0  # a directory that is away as a whole: somebody moves it, or its file system is mounted anew
SEEN_LATE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Claimed:
    """The outputs in an attempt's exit record, and their directory."""

    key: Key
    n: int
    directory: Path
    record: ExitRecord


class Verifying:
    """The move that compares outputs with exit records, without which no local job completes."""

    def __init__(self) -> None:
        self._since: dict[Key, float] = {}  # when outputs first differed from the claim

    def __call__(self, keeper: Keeper) -> None:
        """Let a worker check some outputs that are due."""
        if not keeper.workers.ready(VERIFY):
            return
        ready = (each for each in keeper.store.completing() if keeper.workers.ready((VERIFY, *each)))
        claimed = _claimed(keeper, list(itertools.islice(ready, VERIFIED_AT_ONCE)))
        if claimed:
            keeper.workers.start(Errand(VERIFY, partial(_check_all, claimed), partial(self._checked, keeper)))

    def _checked(self, keeper: Keeper, results: list[tuple[Claimed, Problem | None]]) -> None:
        with keeper.store.transaction():
            completed = alike.complete(keeper, [claimed.key for claimed, problem in results if not problem])
            for claimed, problem in results:
                found = self._verdict(keeper, claimed, problem)
                if found:
                    if claimed.key not in completed:
                        judging.record(keeper, claimed.key, found)
                    self._since.pop(claimed.key, None)
                    keeper.workers.forget((VERIFY, claimed.key[0], claimed.n))

    def _verdict(self, keeper: Keeper, claimed: Claimed, problem: Problem | None) -> Verdict | None:
        """Return the verdict on outputs; None if they are to be checked again."""
        if not problem:
            return verdict.VERIFIED
        now, grid = keeper.clock.boot(), claimed.key[0]
        if now - self._since.setdefault(claimed.key, now) >= _patience(keeper, problem):
            return verdict.of_bad_outputs(problem.said)
        if problem.passes:
            log.warning("%d.%d: its outputs cannot be looked at: %s", grid, claimed.n, problem.said)
        keeper.workers.wait((VERIFY, grid, claimed.n), LOOK_AGAIN_SECONDS if problem.passes else SEEN_LATE_SECONDS)
        return None


def _claimed(keeper: Keeper, jobs: Sequence[tuple[int, int]]) -> list[Claimed]:
    return [claimed_by(keeper.directory(grid), grid, each) for grid, each in keeper.store.claimed(jobs)]


def claimed_by(place: Path, grid: int, ended: Ended) -> Claimed:
    """Return the outputs in an attempt's exit record."""
    directory = submission_directory(place, ended.k) / f"run.{ended.idx}"
    return Claimed((grid, ended.k, ended.idx), ended.n, directory, read_exit_record(ended.record))


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with outputs: they differ from the claim, or cannot be read at the moment."""

    said: str
    passes: bool
    away: bool = False  # all outputs are, with their directory


def _check_all(claimed: list[Claimed]) -> list[tuple[Claimed, Problem | None]]:
    return [(each, _problem(each)) for each in claimed]


def _problem(claimed: Claimed) -> Problem | None:
    """Return the problem of the first output that differs from the claim; None if all match."""
    for output in claimed.record.files:
        try:
            deque(verified(claimed.directory, output), maxlen=0)
        except (OSError, JimError) as error:
            away = isinstance(error, FileNotFoundError) and not os.path.lexists(claimed.directory)
            return Problem(f"{output.name}: {error}", isinstance(error, OSError) and passes(error), away)
    return None


def _patience(keeper: Keeper, problem: Problem) -> float:
    """Return how long to wait: files of a worker node may appear late, and a file server may be away longer."""
    if problem.passes:
        return FILE_SERVER_SECONDS
    visible = keeper.site.batch.visible_seconds
    return max(AWAY_SECONDS, visible) if problem.away else visible

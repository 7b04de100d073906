"""Compares the outputs of well-ended local jobs with their exit records."""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter

from jim.errand import Errand
from jim.evidence import verdict
from jim.evidence.verdict import Verdict
from jim.files.durable import sync_local
from jim.jobs import Key
from jim.keeper.attempts import bulk_reports, judging
from jim.keeper.keeper import Keeper
from jim.keeper.recorded_outputs import FILE_SERVER_SECONDS, Claimed, Problem, claimed_by, problem_of

log = logging.getLogger(__name__)
VERIFY, VERIFIED_AT_ONCE = "verify", 200
BYTES_AT_ONCE = 1_000_000_000  # some seconds of reading
LOOK_AGAIN_SECONDS = 10.0
AWAY_SECONDS = 60.0  # a directory that is away as a whole: somebody moves it, or its file system is mounted anew
SEEN_LATE_SECONDS = 0.5


class Verifying:
    """The move that compares outputs with exit records, without which no local job completes."""

    def __init__(self) -> None:
        self._since: dict[Key, float] = {}  # when outputs first differed from the claim

    def __call__(self, keeper: Keeper) -> None:
        """Let a worker check some outputs that are due."""
        if not keeper.workers.ready(VERIFY):
            return
        ready = (each for each in in_turns(keeper.store.seen.completing()) if keeper.workers.ready((VERIFY, *each)))
        claimed = soon_read(_claimed(keeper, list(itertools.islice(ready, VERIFIED_AT_ONCE))))
        if claimed:
            keeper.workers.start(Errand(VERIFY, partial(_check_all, claimed), partial(self._checked, keeper)))

    def _checked(self, keeper: Keeper, results: list[tuple[Claimed, Problem | None]]) -> None:
        with keeper.store.transaction():
            completed = bulk_reports.complete(keeper, [claimed.key for claimed, problem in results if not problem])
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


def in_turns(jobs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield local jobs, of each grid job one after the other: one that has very many must not hold up the others."""
    by_grid = [list(some) for _, some in itertools.groupby(jobs, key=itemgetter(0))]
    return (each for some in itertools.zip_longest(*by_grid) for each in some if each)


def soon_read(claimed: Sequence[Claimed]) -> list[Claimed]:
    """Return those whose outputs are read soon, the smallest first, and one more.

    Files with holes cost their payload nothing, but all that wait behind them the time to read these.
    """
    chosen, room = list[Claimed](), BYTES_AT_ONCE
    for each in sorted(claimed, key=_size):
        chosen.append(each)
        room -= _size(each)
        if room < 0:
            break
    return chosen


def _size(claimed: Claimed) -> int:
    return sum(each.size for each in claimed.record.files)


def _claimed(keeper: Keeper, jobs: Sequence[tuple[int, int]]) -> list[Claimed]:
    return [claimed_by(keeper.directory(grid), grid, each) for grid, each in keeper.store.claimed(jobs)]


def _check_all(claimed: list[Claimed]) -> list[tuple[Claimed, Problem | None]]:
    """Compare outputs, and make durable what is good: the store must not outlive what it says is there.

    Of a local job without outputs, the directory may be gone: that must not hold up the others.
    """
    found = [(each, problem_of(each)) for each in claimed]
    sync_local(each.directory for each, problem in found if each.record.files and not problem)
    return found


def _patience(keeper: Keeper, problem: Problem) -> float:
    """Return how long to wait: files of a worker node may appear late, and a file server may be away longer."""
    if problem.passes:  # a link in the place of a directory tells nothing of the outputs, however long it stands there
        return math.inf if problem.away else FILE_SERVER_SECONDS
    visible = keeper.site.batch.visible_seconds
    return max(AWAY_SECONDS, visible) if problem.away else visible

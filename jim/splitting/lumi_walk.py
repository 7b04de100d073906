"""The walk over lumis that LumiBased and EventAwareLumiBased share: they differ in how full a job gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jim.splitting.kinds import FLAG
from jim.splitting.lumi_ranges import LumiMask, ranges_of
from jim.splitting.making import Jobs
from jim.splitting.masking import RUN_LIST, Masked
from jim.splitting.parameters import parameter
from jim.splitting.subscription import Subscription
from jim.splitting.units import NOTHING, Failure, File, Stream, lumi_mask


@dataclass(frozen=True)
class LumiParameters(Masked):
    """What all lumi splitters take."""

    halt_job_on_file_boundaries: bool = parameter(False, FLAG, "a new job at each file")
    split_on_run: bool = parameter(True, FLAG, "a new job at each change of run", "splitOnRun")
    run_whitelist: tuple[int, ...] = parameter((), RUN_LIST, "only these runs; none: all", "runWhitelist")
    apply_lumi_correction: bool = parameter(
        False, FLAG, "a lumi of two files, wherever they are, goes into one job, with both", "applyLumiCorrection"
    )
    include_parents: bool = parameter(False, FLAG, "name the parents of the input files")
    deterministic_pileup: bool = parameter(False, FLAG, "number the pile-up events to skip", "deterministicPileup")


class Alone(NamedTuple):
    """A file that gets a job of its own, and perhaps fails at once."""

    failure: Failure | None


class Draft:
    """A job being filled, from its first lumis on."""

    __slots__ = ("alone", "events", "file", "files", "limit", "lumis", "ranges", "run")

    def __init__(
        self, limit: int, alone: Alone | None, file: File, run: int, lumis: Sequence[int], average: int
    ) -> None:
        self.limit = limit  # lumis a job might have, as it stood before
        self.alone = alone
        self.files = {file.lfn: file}  # by name, each once
        self.ranges = {run: ranges_of(lumis)}
        self.file, self.run = file, run  # of the last lumi
        self.lumis = len(lumis)
        self.events = len(lumis) * average

    def add(self, file: File, run: int, lumis: Sequence[int], average: int) -> None:
        """Put ascending lumis of one run into the job; ranges of two files are never joined."""
        self.files[file.lfn] = file
        self.ranges.setdefault(run, []).extend(ranges_of(lumis))
        self.file, self.run = file, run
        self.lumis += len(lumis)
        self.events += len(lumis) * average


class Filling:
    """How full jobs get. It is asked file by file, and counts over all locations."""

    limit = 1  # lumis that the open job may have
    limit_here = 1  # lumis of a job that begins within the file
    left = ANY = 2**62  # lumis that may still be taken

    def enough(self, files: Sequence[File]) -> bool:
        """Say whether these files are enough to begin with, while more may come."""
        raise NotImplementedError

    def enter(self, file: File, average: int, draft: Draft | None) -> Alone | None:
        """Begin with a file of so many events per lumi: set the limits."""
        raise NotImplementedError


def lumi_jobs(work: Subscription, p: LumiParameters, filling: Filling, job_limit: int = 0) -> Stream:
    """Fill job after job with lumis: files by run, and lumis ascending."""
    jobs = Jobs(work, p, limit=job_limit)
    allowed = work.recovery.lumi_mask() if work.recovery else p.mask()
    average = _average(Jobs(work, p).groups(enough=filling.enough)) if p.deterministic_pileup else 0
    walk = _Walk(p, allowed, filling)
    walks: Iterable[Iterable[Draft]] = map(walk.over, Jobs(work, p).groups(enough=filling.enough))
    if p.apply_lumi_correction:
        walks = [list(each) for each in walks]  # a file may still be attached to the first of all jobs
    for _, drafts in zip(jobs.groups(enough=filling.enough), walks, strict=True):
        for draft in drafts:
            skip = {"skipPileupEvents": jobs.before * draft.limit * average} if p.deterministic_pileup else NOTHING
            failure = draft.alone.failure if draft.alone else None
            estimates = p.performance.of(draft.events)
            yield jobs.make(draft.files.values(), lumi_mask(draft.ranges), estimates, skip, failure)


def _average(groups: Iterable[list[File]]) -> int:
    """Take the pile-up of all lumis for alike: the average of the last file there is stands for it."""
    return next((file.events_per_lumi for files in list(groups)[::-1] for file in files[::-1] if file.lumis), 0)


def _order(file: File) -> tuple[int, tuple[int, ...], str]:
    return *file.runs[0], file.lfn


class _Walk:
    """The walk over the files of all places, one after another."""

    def __init__(self, p: LumiParameters, mask: LumiMask | None, filling: Filling) -> None:
        self._p = p
        self._mask = mask
        self._runs = frozenset(p.run_whitelist)
        self._filling = filling
        self._draft: Draft | None = None
        self._taken: dict[tuple[int, int], Draft] = {}  # where lumis went, to correct

    def over(self, files: Iterable[File]) -> Iterator[Draft]:
        """Give job after job of one place."""
        self._draft = None
        for file in sorted((each for each in files if each.lumis), key=_order):
            average = file.events_per_lumi
            alone = self._filling.enter(file, average, self._draft)
            if not self._filling.left:
                break
            for run, lumis in self._wanted(file):
                yield from self._fill(file, run, lumis, average, alone)
        if self._draft:
            yield self._draft

    def _wanted(self, file: File) -> Iterator[tuple[int, Sequence[int]]]:
        for run, lumis in file.runs:
            if self._runs and run not in self._runs:
                continue
            wanted = self._mask.within(run, lumis) if self._mask else lumis
            if self._p.apply_lumi_correction:
                for lumi in wanted:
                    if (run, lumi) in self._taken:
                        self._taken[run, lumi].files[file.lfn] = file
                wanted = [lumi for lumi in wanted if (run, lumi) not in self._taken]
            yield run, wanted

    def _fill(self, file: File, run: int, lumis: Sequence[int], average: int, alone: Alone | None) -> Iterator[Draft]:
        filling, at = self._filling, 0
        while at < len(lumis) and filling.left:
            draft = self._draft
            if draft is None or alone or self._is_done(draft, file, run):
                if draft:
                    yield draft
                before, filling.limit = filling.limit, filling.limit_here
                taken = lumis[at : at + min(filling.limit, filling.left)]
                draft = self._draft = Draft(before, alone, file, run, taken, average)
            else:
                taken = lumis[at : at + min(filling.limit - draft.lumis, filling.left)]
                draft.add(file, run, taken, average)
            at += len(taken)
            filling.left -= len(taken)
            if self._p.apply_lumi_correction:
                self._taken |= dict.fromkeys(((run, lumi) for lumi in taken), draft)

    def _is_done(self, draft: Draft, file: File, run: int) -> bool:
        return bool(
            draft.lumis >= self._filling.limit
            or draft.alone
            or (self._p.split_on_run and draft.run != run)
            or (self._p.halt_job_on_file_boundaries and draft.file is not file)
        )

"""The walk over lumis that LumiBased and EventAwareLumiBased share; they differ in how many lumis fill a job."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jim.splitting.checked_values import FLAG
from jim.splitting.files_and_jobs import NOTHING, Failure, File, Mask, SplitJob, Stream, lumi_mask
from jim.splitting.job_maker import JobMaker
from jim.splitting.lumi_ranges import LumiMask, ranges_of
from jim.splitting.masking import RUN_LIST, Masked
from jim.splitting.parameters import parameter
from jim.splitting.subscription import Subscription


@dataclass(frozen=True)
class LumiParameters(Masked):
    """The parameters of all lumi splitters."""

    halt_job_on_file_boundaries: bool = parameter(False, FLAG, "true: a new job begins with each file")
    split_on_run: bool = parameter(True, FLAG, "true: a new job begins with each run", "splitOnRun")
    run_whitelist: tuple[int, ...] = parameter((), RUN_LIST, "process only these runs; empty: all", "runWhitelist")
    apply_lumi_correction: bool = parameter(
        False,
        FLAG,
        "true: a lumi that two files hold goes into one job with both files, wherever they are",
        "applyLumiCorrection",
    )
    include_parents: bool = parameter(False, FLAG, "true: each job names the parents of its input files")
    deterministic_pileup: bool = parameter(
        False, FLAG, "true: each job gets the number of pile-up events to skip", "deterministicPileup"
    )

    def apart(self, job: SplitJob) -> tuple[int, ...]:
        """Return what is filled by itself: the run of which a job has lumis, if it may have no others."""
        return tuple(job.mask.run_lumis or ()) if self.split_on_run else ()


def lumis_in(job: SplitJob, file: File) -> int:
    """Count the lumis of a file that a job has."""
    ranges = job.mask.run_lumis or {}
    lumis = ((run, lumi) for run, those in file.runs for lumi in those)
    return sum(any(first <= lumi <= last for first, last in ranges.get(run, ())) for run, lumi in lumis)


class Alone(NamedTuple):
    """A file that gets a job of its own; the job may fail at once."""

    failure: Failure | None


class Here(NamedTuple):
    """The file that the walk has reached."""

    file: File
    average: int  # events per lumi
    alone: Alone | None
    files: dict[str, File]  # the file by name, as in the jobs that read only this file


class Draft:
    """A job that is being filled, from its first lumis on."""

    __slots__ = ("events", "files", "here", "limit", "lumis", "ranges", "run")

    def __init__(self, limit: int, here: Here, run: int, lumis: Sequence[int]) -> None:
        self.limit = limit  # how many lumis a job could have when this one began
        self.files = here.files  # by name, each once
        self.ranges = {run: ranges_of(lumis)}
        self.here = here  # these two are run and lumi of the last one
        self.run = run
        self.lumis = len(lumis)
        self.events = len(lumis) * here.average

    def add(self, here: Here, run: int, lumis: Sequence[int]) -> None:
        """Put ascending lumis of one run into the job; ranges of two files stay apart."""
        self.attach(here.file)
        self.ranges.setdefault(run, []).extend(ranges_of(lumis))
        self.here = here
        self.run = run
        self.lumis += len(lumis)
        self.events += len(lumis) * here.average

    def attach(self, file: File) -> None:
        """Add a file to those that the job reads."""
        if len(self.files) == 1:  # other jobs may share the set
            self.files = dict(self.files)
        self.files[file.lfn] = file


class Row(NamedTuple):
    """A row of full jobs with ascending lumis of one run of a file; there may be millions."""

    here: Here
    run: int
    lumis: Sequence[int]
    size: int  # number of lumis in each job

    def masks(self) -> Iterator[Mask]:
        """Return the mask of each job."""
        run, first, last, size = self.run, self.lumis[0], self.lumis[-1], self.size
        if last - first == len(self.lumis) - 1:  # the usual case: no gap
            return (lumi_mask({run: [(at, at + size - 1)]}) for at in range(first, last + 1, size))
        return (lumi_mask({run: ranges_of(self.lumis[at : at + size])}) for at in range(0, len(self.lumis), size))


class Filling(ABC):
    """Decides how full jobs get. It sees file after file, over all locations."""

    limit = 1  # how many lumis the open job may have
    limit_here = 1  # how many lumis a job may have that begins within the file
    left = ANY = 2**62  # how many lumis may still be taken

    @abstractmethod
    def enough(self, files: Sequence[File]) -> bool:
        """Tell whether these files are enough to begin with, while more may come."""

    @abstractmethod
    def enter(self, file: File, average: int, draft: Draft | None) -> Alone | None:
        """Begin with a file that has so many events per lumi: set the limits."""


def lumi_jobs(work: Subscription, p: LumiParameters, filling: Filling, job_limit: int = 0) -> Stream:
    """Fill job after job with lumis: by file, run and ascending lumi."""
    jobs = JobMaker(work, p, limit=job_limit)
    allowed = work.recovery.lumi_mask() if work.recovery else p.mask()
    average = _average(JobMaker(work, p).groups(enough=filling.enough)) if p.deterministic_pileup else 0
    walk = _Walk(p, allowed, filling)
    walks: Iterable[Iterable[Draft | Row]] = map(walk.over, JobMaker(work, p).groups(enough=filling.enough))
    if p.apply_lumi_correction:
        walks = [list(each) for each in walks]  # a later file may still be attached to the first jobs
    for _, drafts in zip(jobs.groups(enough=filling.enough), walks, strict=True):
        files = events = None  # the estimates of the job before: very many jobs differ only in their lumis
        for draft in drafts:
            if isinstance(draft, Row):
                yield from _row(jobs, p, draft)
                continue
            if draft.files is not files:
                files = draft.files
                make = jobs.maker(files.values())
            if draft.events != events:
                events = draft.events
                estimates = p.performance.of(events)
            skip = {"skipPileupEvents": jobs.before * draft.limit * average} if p.deterministic_pileup else NOTHING
            alone = draft.here.alone
            yield make(lumi_mask(draft.ranges), estimates, skip, alone and alone.failure)


def _row(jobs: JobMaker, p: LumiParameters, row: Row) -> Stream:
    here, count = row.here, len(row.lumis) // row.size
    estimates = p.performance.of(row.size * here.average)
    return jobs.row((here.file,), row.masks(), count, estimates, here.alone and here.alone.failure)


def _average(groups: Iterable[list[File]]) -> int:
    """Return the average number of events of the last file; it stands for the pile-up of all lumis."""
    return next((file.events_per_lumi for files in list(groups)[::-1] for file in files[::-1] if file.lumis), 0)


def _order(file: File) -> tuple[int, tuple[int, ...], str]:
    run, lumis = next(each for each in file.runs if each[1])
    return run, lumis, file.lfn


class _Walk:
    """The walk over the files of all locations, one after another."""

    def __init__(self, p: LumiParameters, mask: LumiMask | None, filling: Filling) -> None:
        self._p = p
        self._mask = mask
        self._runs = frozenset(p.run_whitelist)
        self._filling = filling
        self._corrects = p.apply_lumi_correction
        self._in_rows = not (p.apply_lumi_correction or p.deterministic_pileup)
        self._draft: Draft | None = None
        self._taken: dict[tuple[int, int], Draft] = {}  # where each lumi went, for lumis of two files

    def over(self, files: Iterable[File]) -> Iterator[Draft | Row]:
        """Return job after job of one location."""
        self._draft = None
        for file in sorted((each for each in files if each.lumis), key=_order):
            average = file.events_per_lumi
            here = Here(file, average, self._filling.enter(file, average, self._draft), {file.lfn: file})
            if not self._filling.left:
                break
            for run, lumis in self._wanted(file):
                yield from self._fill(here, run, lumis)
        if self._draft:
            yield self._draft

    def _wanted(self, file: File) -> Iterator[tuple[int, Sequence[int]]]:
        for run, lumis in file.runs:
            if self._runs and run not in self._runs:
                continue
            wanted = self._mask.within(run, lumis) if self._mask else lumis
            yield run, list(self._new(file, run, wanted)) if self._corrects else wanted

    def _new(self, file: File, run: int, lumis: Sequence[int]) -> Iterator[int]:
        """Return lumis that no job has yet; a job that has one of the others reads this file, too."""
        left = self._filling.left
        for lumi in lumis:
            if not left:  # the walk ends here
                break
            if (run, lumi) in self._taken:
                self._taken[run, lumi].attach(file)
            else:
                left -= 1
                yield lumi

    def _fill(self, here: Here, run: int, lumis: Sequence[int]) -> Iterator[Draft | Row]:
        """Put ascending lumis into the open job until it is full, and the rest into new jobs."""
        filling = self._filling
        lumis = lumis[: filling.left]
        filling.left -= len(lumis)
        if lumis and self._draft and not self._is_done(self._draft, here, run):
            free = filling.limit - self._draft.lumis
            self._draft.add(here, run, lumis[:free])
            if self._corrects:
                self._note(self._draft, run, lumis[:free])
            lumis = lumis[free:]
        full = (len(lumis) - 1) // filling.limit_here * filling.limit_here
        if self._in_rows and full > 0:  # all except the last job, which may still grow
            if self._draft:
                yield self._draft
            self._draft, filling.limit = None, filling.limit_here
            yield Row(here, run, lumis[:full], filling.limit)
            lumis = lumis[full:]
        for first in range(0, len(lumis), filling.limit_here):
            if self._draft:
                yield self._draft
            before, filling.limit = filling.limit, filling.limit_here
            taken = lumis[first : first + filling.limit]
            self._draft = Draft(before, here, run, taken)
            if self._corrects:
                self._note(self._draft, run, taken)

    def _note(self, draft: Draft, run: int, lumis: Sequence[int]) -> None:
        self._taken |= dict.fromkeys(((run, lumi) for lumi in lumis), draft)

    def _is_done(self, draft: Draft, here: Here, run: int) -> bool:
        return bool(
            draft.lumis >= self._filling.limit
            or here.alone
            or draft.here.alone
            or (self._p.split_on_run and draft.run != run)
            or (self._p.halt_job_on_file_boundaries and draft.here is not here)
        )

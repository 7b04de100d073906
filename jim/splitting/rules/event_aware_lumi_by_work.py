"""EventAwareLumiByWork: lumi by lumi; a job ends when another lumi would not bring it nearer to its size in events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from jim.splitting.checked_values import number, whole
from jim.splitting.files_and_jobs import NOTHING, Failure, File, SplitJob, Stream, lumi_mask
from jim.splitting.job_maker import JobMaker
from jim.splitting.lumi_ranges import LumiMask, ranges_of
from jim.splitting.lumi_walk import LumiParameters
from jim.splitting.parameters import parameter
from jim.splitting.subscription import Subscription

NAME = "EventAwareLumiByWork"


@dataclass(frozen=True)
class Parameters(LumiParameters):
    """The parameters of EventAwareLumiByWork."""

    events_per_job: int = parameter(5000, whole(1), "number of events that a job comes as near to as possible")
    job_time_limit: float = parameter(172_800, number(), "maximum seconds of a lumi")
    total_events: int = parameter(0, whole(), "total number of events to take; 0: all")
    job_limit: int = parameter(0, whole(), "maximum number of jobs; more are an error; 0: no limit")


@dataclass(slots=True)
class _Lumi:
    run: int
    lumi: int
    met_in: File
    events: int = 0
    files: list[File] = field(default_factory=list)


@dataclass(slots=True)
class _Draft:
    lumis: list[_Lumi] = field(default_factory=list)
    events: int = 0

    def add(self, lumi: _Lumi) -> None:
        self.lumis.append(lumi)
        self.events += lumi.events

    def ends_before(self, lumi: _Lumi, p: Parameters) -> bool:
        """Tell whether a lumi must go into the next job."""
        if not self.lumis:
            return False
        if p.halt_job_on_file_boundaries and self.lumis[-1].met_in is not lumi.met_in:
            return True
        if not self.events:
            return False
        after = self.events + lumi.events
        further = abs(after - p.events_per_job) >= abs(self.events - p.events_per_job)
        return (lumi.events > 0 and further) or (p.split_on_run and self.lumis[-1].run != lumi.run)


def split(work: Subscription, p: Parameters) -> Stream:
    """Put each lumi of a location into one job, with all files that hold the lumi."""
    jobs = _WorkJobMaker(work, p)
    mask = work.recovery.lumi_mask() if work.recovery else p.mask()
    taken = 0
    for files in jobs.groups(enough=lambda files: sum(each.events for each in files) >= p.events_per_job):
        draft = _Draft()
        for lumi in _lumis(files, p, mask):
            if p.total_events and taken >= p.total_events:
                break
            taken += lumi.events
            jobs.most_events = max(jobs.most_events, lumi.events)
            too_long = _too_long(lumi, p)
            if draft.events if too_long else draft.ends_before(lumi, p):
                yield jobs.of(draft)
                draft = _Draft()
            if too_long:
                yield jobs.of(_Draft([lumi], lumi.events), too_long)
            else:
                draft.add(lumi)
        if draft.lumis:
            yield jobs.of(draft)


def _lumis(files: list[File], p: Parameters, mask: LumiMask | None) -> Iterable[_Lumi]:
    """Find every lumi once, ordered by file name; the last file with the lumi says how many events it has."""
    found: dict[tuple[int, int], _Lumi] = {}
    for file in sorted(files):
        average = file.events_per_lumi
        for run, lumis in file.runs:
            if p.run_whitelist and run not in p.run_whitelist:
                continue
            for lumi in mask.within(run, lumis) if mask else lumis:
                one = found.setdefault((run, lumi), _Lumi(run, lumi, file))
                one.events = average
                one.files.append(file)
    return found.values()


def _too_long(lumi: _Lumi, p: Parameters) -> Failure | None:
    seconds = lumi.events * p.performance.time_per_event
    if seconds <= p.job_time_limit:
        return None
    what = f"{lumi.met_in.lfn}: lumi {lumi.lumi} of run {lumi.run} has {lumi.events:,} events"
    return Failure(f"{what}, which take {seconds:,.0f} s, more than the {p.job_time_limit:,} s that a job may take")


class _WorkJobMaker(JobMaker):
    def __init__(self, work: Subscription, p: Parameters) -> None:
        super().__init__(work, p, limit=p.job_limit)
        self._parameters = p
        self.most_events = self._most_lumis = 1  # of one lumi and of one job: those so far, or a single one

    def of(self, draft: _Draft, failure: Failure | None = None) -> SplitJob:
        """Make a job of lumis; their ranges are joined over files."""
        p, runs = self._parameters, dict[int, list[int]]()
        for each in draft.lumis:
            runs.setdefault(each.run, []).append(each.lumi)
        files = {file.lfn: file for each in draft.lumis for file in each.files}
        self._most_lumis = max(self._most_lumis, len(draft.lumis))
        skip = {"skipPileupEvents": self.before * self.most_events * self._most_lumis}
        return self.make(
            files.values(),
            lumi_mask({run: ranges_of(sorted(lumis)) for run, lumis in runs.items()}),
            p.performance.of(draft.events),
            skip if p.deterministic_pileup else NOTHING,
            failure,
        )

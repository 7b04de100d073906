"""EventAwareLumiBased: jobs with at least one lumi, and with as many as keep the job within its number of events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jim.splitting.checked_values import FLAG, number, whole
from jim.splitting.files_and_jobs import Failure, File, SplitJob, Stream
from jim.splitting.lumi_walk import Alone, Draft, Filling, LumiParameters, lumi_jobs, lumis_in
from jim.splitting.parameters import parameter
from jim.splitting.subscription import Subscription

NAME = "EventAwareLumiBased"
TOO_LONG = 99305


@dataclass(frozen=True)
class Parameters(LumiParameters):
    """The parameters of EventAwareLumiBased."""

    events_per_job: int = parameter(5000, whole(1), "number of events in a job, from the average of each file")
    job_time_limit: float = parameter(172_800, number(), "maximum seconds of a job")
    total_events: int = parameter(0, whole(), "total number of events to take; 0: all")
    job_limit: int = parameter(0, whole(), "maximum number of jobs; more are an error; 0: no limit")
    allow_creation_failure: bool = parameter(
        True, FLAG, "true: a lumi that takes too long becomes a job that has failed already", "allowCreationFailure"
    )


def split(work: Subscription, p: Parameters) -> Stream:
    """Fill each job with lumis up to its number of events."""
    return lumi_jobs(work, p, _ByEvents(p), p.job_limit)


def full(job: SplitJob, p: Parameters) -> bool:
    """Tell whether another lumi like the last ones would not fit, so that files that come later add nothing."""
    if p.halt_job_on_file_boundaries or job.failure:
        return True
    events = sum(lumis_in(job, file) * file.events_per_lumi for file in job.files)
    return events + job.files[-1].events_per_lumi > p.events_per_job


class _ByEvents(Filling):
    def __init__(self, p: Parameters) -> None:
        self._p = p
        self._average = 0
        self._events_left = p.total_events
        self._left_before = self.left

    def enough(self, files: Sequence[File]) -> bool:
        return sum(file.events for file in files) >= self._p.events_per_job

    def enter(self, file: File, average: int, draft: Draft | None) -> Alone | None:
        """Set how many lumis of the file the open job may take; a lumi that does not fit begins a new job."""
        self._count_left(average)
        lumis = file.lumis
        self.limit = self.limit_here = max(1, self._p.events_per_job // average) if average else lumis
        if draft and not self._p.halt_job_on_file_boundaries:
            free = max(self._p.events_per_job - draft.events, 0)
            self.limit = draft.lumis + (free // average if average else lumis)
        seconds = average * self._p.performance.time_per_event
        if lumis == 1 and seconds > self._p.job_time_limit:
            self.limit = self.limit_here = 1
            return Alone(self._failure(file, average, seconds) if self._p.allow_creation_failure else None)
        return None

    def _count_left(self, average: int) -> None:
        """Turn the events that are left in all into lumis of this file; take also the lumi that reaches the total."""
        if self._p.total_events:
            self._events_left -= (self._left_before - self.left) * self._average
            left = max(self._events_left, 0)
            self.left = self._left_before = -(-left // average) if average else left and self.ANY
        self._average = average

    def _failure(self, file: File, average: int, seconds: float) -> Failure:
        run, lumi = next((run, lumis[0]) for run, lumis in file.runs if lumis)
        what = f"{file.lfn}: its only lumi, {lumi} of run {run}, has {average:,} events"
        most = f"more than the {self._p.job_time_limit:,} s that a job may take"
        return Failure(f"{what}, which take {seconds:,.0f} s, {most}", TOO_LONG)

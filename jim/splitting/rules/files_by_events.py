"""FilesByEvents: whole files go into a job in the order of the request, while its events stay within the limit."""

from __future__ import annotations

from dataclasses import dataclass

from jim.splitting.checked_values import whole
from jim.splitting.errors import SplitError
from jim.splitting.files_and_jobs import NO_MASK, File, SplitJob, Stream
from jim.splitting.job_maker import JobMaker
from jim.splitting.parameters import Common, parameter
from jim.splitting.subscription import Subscription

NAME = "FilesByEvents"


@dataclass(frozen=True)
class Parameters(Common):
    """The parameters of FilesByEvents."""

    events_per_job: int = parameter(1000, whole(1), "maximum events of a job; a file with more gets a job of its own")
    files_per_job: int = parameter(0, whole(), "maximum files of a job; 0: any number")


def full(_job: SplitJob, _p: Parameters) -> bool:
    """Tell that more files may always change the last job."""
    return False


def split(work: Subscription, p: Parameters) -> Stream:
    """Fill job after job; a job of exactly the maximum is allowed."""
    if len(work.to_read) > 1 and not (p.files_per_job or any(file.events for file in work.to_read)):
        first = work.to_read[0].lfn  # one job would get all files, however many
        raise SplitError(first, 0, "has no number of events, nor has any other file; give them, or `files_per_job`")
    jobs = JobMaker(work, p)
    for files in jobs.groups(work.to_read):
        chunk: list[File] = []
        events = 0
        for file in files:
            if chunk and (events + file.events > p.events_per_job or len(chunk) == p.files_per_job):
                yield jobs.make(chunk, NO_MASK, p.performance.of(events))
                chunk, events = [], 0
            chunk.append(file)
            events += file.events
        yield jobs.make(chunk, NO_MASK, p.performance.of(events))

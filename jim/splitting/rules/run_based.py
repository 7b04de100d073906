"""RunBased: files with the same location and the same lowest run."""

from __future__ import annotations

from dataclasses import dataclass

from jim.splitting.checked_values import whole
from jim.splitting.errors import SplitError
from jim.splitting.files_and_jobs import File, SplitJob, Stream
from jim.splitting.job_maker import JobMaker
from jim.splitting.parameters import Common, parameter
from jim.splitting.subscription import Subscription

NAME = "RunBased"


@dataclass(frozen=True)
class Parameters(Common):
    """The parameters of RunBased."""

    files_per_job: int = parameter(300, whole(1), "number of files in a job")


def full(job: SplitJob, p: Parameters) -> bool:
    """Tell whether more files would make another job."""
    return len(job.files) >= p.files_per_job


def split(work: Subscription, p: Parameters) -> Stream:
    """Split the files of each run, the newest first; each run of a location is a job group."""
    jobs = JobMaker(work, p)
    for file in work.to_read:
        if file.lowest_run is None:
            raise SplitError(file.lfn, file.runs, "has no run, but RunBased splits by runs")
    for files in jobs.groups(work.to_read):
        runs: dict[int, list[File]] = {}
        for file in reversed(files):
            runs.setdefault(file.runs[0][0], []).append(file)
        for _, those in sorted(runs.items()):
            jobs.another_group()
            for first in range(0, len(those), p.files_per_job):
                yield jobs.make(those[first : first + p.files_per_job])

"""SizeBased: files go into a job in the order in which they became available, while its bytes stay within the limit."""

from __future__ import annotations

from dataclasses import dataclass

from jim.splitting.checked_values import whole
from jim.splitting.files_and_jobs import File, SplitJob, Stream
from jim.splitting.job_maker import JobMaker
from jim.splitting.parameters import Common, parameter
from jim.splitting.subscription import Subscription

NAME = "SizeBased"


@dataclass(frozen=True)
class Parameters(Common):
    """The parameters of SizeBased."""

    size_per_job: int = parameter(1000, whole(1), "maximum bytes of a job; a larger file gets a job of its own")


def full(_job: SplitJob, _p: Parameters) -> bool:
    """Tell that more files may always change the last job."""
    return False


def split(work: Subscription, p: Parameters) -> Stream:
    """Fill job after job; a job of exactly the maximum size is allowed."""
    jobs = JobMaker(work, p)
    for files in jobs.groups(work.to_read):
        chunk: list[File] = []
        size = 0
        for file in files:
            if chunk and size + file.size > p.size_per_job:
                yield jobs.make(chunk)
                chunk, size = [], 0
            chunk.append(file)
            size += file.size
        yield jobs.make(chunk)

"""SizeBased: files go into a job, as they are available, as long as its bytes stay within the limit."""

from __future__ import annotations

from dataclasses import dataclass

from jim.splitting.kinds import whole
from jim.splitting.making import Jobs
from jim.splitting.parameters import Common, parameter
from jim.splitting.subscription import Subscription
from jim.splitting.units import File, Stream

NAME = "SizeBased"


@dataclass(frozen=True)
class Parameters(Common):
    """What SizeBased takes."""

    size_per_job: int = parameter(1000, whole(1), "bytes of one job; a larger file has a job of its own")


def split(work: Subscription, p: Parameters) -> Stream:
    """Fill job after job; one that is full exactly is within the limit."""
    jobs = Jobs(work, p)
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

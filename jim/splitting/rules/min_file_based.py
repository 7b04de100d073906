"""MinFileBased: so many files in a job, and not fewer while more may come; the remaining files wait."""

from __future__ import annotations

from dataclasses import dataclass

from jim.splitting.file_chunks import ChunkParameters
from jim.splitting.files_and_jobs import Stream
from jim.splitting.job_maker import JobMaker
from jim.splitting.subscription import Subscription

NAME = "MinFileBased"


@dataclass(frozen=True)
class Parameters(ChunkParameters):
    """The parameters of MinFileBased."""


def split(work: Subscription, p: Parameters) -> Stream:
    """Split the files of each location by name; make a smaller job only when no more files come."""
    jobs = JobMaker(work, p)
    for files in jobs.groups(sorted(work.to_read)):
        left = len(files)
        for n, chunk in enumerate(p.chunks(files)):
            if work.waits and left < p.files_per_job:
                break
            left -= len(chunk)
            if p.jobs_per_group and n and n % p.jobs_per_group == 0:
                jobs.another_group()
            yield jobs.make(chunk)

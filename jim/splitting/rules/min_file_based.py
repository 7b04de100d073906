"""MinFileBased: so many files for a job and never fewer while more may come; what is left over waits."""

from __future__ import annotations

from dataclasses import dataclass

from jim.splitting.file_chunks import ChunkParameters
from jim.splitting.making import Jobs
from jim.splitting.subscription import Subscription
from jim.splitting.units import Stream

NAME = "MinFileBased"


@dataclass(frozen=True)
class Parameters(ChunkParameters):
    """What MinFileBased takes."""


def split(work: Subscription, p: Parameters) -> Stream:
    """Cut the files of each place, by name; fewer than a job's go out only once no more files come."""
    jobs = Jobs(work, p)
    for files in jobs.groups(sorted(work.to_read)):
        left = len(files)
        for n, chunk in enumerate(p.chunks(files)):
            if work.waits and left < p.files_per_job:
                break
            left -= len(chunk)
            if p.jobs_per_group and n and n % p.jobs_per_group == 0:
                jobs.another_group()
            yield jobs.make(chunk)

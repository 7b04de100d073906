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
    """Cut the files of each place, by name; the last chunk goes out short only once no more files come."""
    jobs = Jobs(work, p)
    for files in jobs.groups(sorted(work.to_read), lambda files: len(files) >= p.files_per_job):
        chunks = list(p.chunks(files))
        if work.waits and len(chunks[-1]) < p.files_per_job:
            chunks.pop()
        for n, chunk in enumerate(chunks):
            if p.jobs_per_group and n and n % p.jobs_per_group == 0:
                jobs.another_group()
            yield jobs.make(chunk)

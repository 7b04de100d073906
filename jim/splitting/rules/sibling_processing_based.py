"""SiblingProcessingBased: so many files in a job, from those that every sibling subscription has completed."""

from __future__ import annotations

from dataclasses import dataclass

from jim.splitting.checked_values import whole
from jim.splitting.files_and_jobs import File, Settled, Stream
from jim.splitting.job_maker import JobMaker
from jim.splitting.parameters import Common, parameter
from jim.splitting.subscription import Subscription

NAME = "SiblingProcessingBased"


@dataclass(frozen=True)
class Parameters(Common):
    """The parameters of SiblingProcessingBased."""

    files_per_job: int = parameter(10, whole(1), "number of files in a job")


def split(work: Subscription, p: Parameters) -> Stream:
    """Split the ready files of each storage by name. At the end, files that a sibling failed need no job."""
    jobs = JobMaker(work, p)
    failed = frozenset[str]().union(*(each.failed for each in work.siblings))
    given_up = tuple(each for each in work.files if each.lfn in failed)
    if given_up and not work.open:
        yield Settled(given_up, "completed")
    storages: dict[str, list[File]] = {}
    for file in sorted(work.to_read):
        if all(file.lfn in each.complete for each in work.siblings) and file.lfn not in failed:
            storages.setdefault(min(file.locations, default=""), []).append(file)
    for storage, files in sorted(storages.items()):
        jobs.open_group(None)
        for first in range(0, len(files), p.files_per_job):
            chunk = files[first : first + p.files_per_job]
            if len(chunk) == p.files_per_job or not work.waits:
                yield jobs.make(chunk, at=storage)

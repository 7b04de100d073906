"""SiblingProcessingBased: so many files for a job, of those that every sibling subscription has completed."""

from __future__ import annotations

from dataclasses import dataclass

from jim.splitting.kinds import whole
from jim.splitting.making import Jobs
from jim.splitting.parameters import Common, parameter
from jim.splitting.subscription import Subscription
from jim.splitting.units import File, Settled, Stream

NAME = "SiblingProcessingBased"


@dataclass(frozen=True)
class Parameters(Common):
    """What SiblingProcessingBased takes."""

    files_per_job: int = parameter(10, whole(1), "files of one job")


def split(work: Subscription, p: Parameters) -> Stream:
    """Cut the ready files of each storage, by name; what a sibling has failed needs no job once no more files come."""
    jobs = Jobs(work, p)
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

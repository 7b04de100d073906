"""RunBased: files of one place and one run, by the lowest that each holds."""

from __future__ import annotations

from dataclasses import dataclass

from jim.splitting.errors import SplitError
from jim.splitting.kinds import whole
from jim.splitting.making import Jobs
from jim.splitting.parameters import Common, parameter
from jim.splitting.subscription import Subscription
from jim.splitting.units import File, Stream

NAME = "RunBased"


@dataclass(frozen=True)
class Parameters(Common):
    """What RunBased takes."""

    files_per_job: int = parameter(300, whole(1), "files of one job")


def split(work: Subscription, p: Parameters) -> Stream:
    """Cut the files of each run into jobs, those that came last first; each run of a place is a job group."""
    jobs = Jobs(work, p)
    for file in work.to_read:
        if file.lowest_run is None:
            raise SplitError(file.lfn, file.runs, "has no run, and RunBased splits by runs")
    for files in jobs.groups(work.to_read):
        runs: dict[int, list[File]] = {}
        for file in reversed(files):
            runs.setdefault(file.runs[0][0], []).append(file)
        for _, those in sorted(runs.items()):
            jobs.another_group()
            for first in range(0, len(those), p.files_per_job):
                yield jobs.make(those[first : first + p.files_per_job])

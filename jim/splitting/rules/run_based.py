"""RunBased: files of one run, by the lowest that each holds, wherever they are."""

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
    """Cut the files of each run into jobs, those that came last first; each run is a job group."""
    jobs = Jobs(work, p)
    runs: dict[int, list[File]] = {}
    for file in work.to_read:
        if file.lowest_run is None:
            raise SplitError(file.lfn, file.runs, "has no run, and RunBased splits by runs")
        runs.setdefault(file.lowest_run, []).append(file)
    for _, files in sorted(runs.items()):
        files.reverse()
        jobs.open_group(None)
        for first in range(0, len(files), p.files_per_job):
            yield jobs.make(files[first : first + p.files_per_job])

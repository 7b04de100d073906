"""LumiBased: so many lumis in a job, across files unless the parameters forbid it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jim.splitting.checked_values import whole
from jim.splitting.files_and_jobs import File, SplitJob, Stream
from jim.splitting.lumi_walk import Alone, Draft, Filling, LumiParameters, lumi_jobs
from jim.splitting.parameters import parameter
from jim.splitting.subscription import Subscription

NAME = "LumiBased"


@dataclass(frozen=True)
class Parameters(LumiParameters):
    """The parameters of LumiBased."""

    lumis_per_job: int = parameter(1, whole(1), "number of lumis in a job")
    total_lumis: int = parameter(0, whole(), "total number of lumis to take; 0: all")


def split(work: Subscription, p: Parameters) -> Stream:
    """Fill each job with the same number of lumis."""
    return lumi_jobs(work, p, _ByNumber(p))


def full(job: SplitJob, p: Parameters) -> bool:
    """Tell whether files that come later add nothing to a job."""
    enough = sum(last - first + 1 for ranges in (job.mask.run_lumis or {}).values() for first, last in ranges)
    return p.halt_job_on_file_boundaries or enough >= p.lumis_per_job


class _ByNumber(Filling):
    def __init__(self, p: Parameters) -> None:
        self.limit = self.limit_here = p.lumis_per_job
        self.left = p.total_lumis or self.ANY

    def enough(self, files: Sequence[File]) -> bool:
        return sum(file.lumis for file in files) >= self.limit

    def enter(self, file: File, average: int, draft: Draft | None) -> Alone | None:
        return None

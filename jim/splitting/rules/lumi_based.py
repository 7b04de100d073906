"""LumiBased: so many lumis for a job, over file boundaries where these are none of its."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jim.splitting.kinds import whole
from jim.splitting.lumi_walk import Alone, Draft, Filling, LumiParameters, lumi_jobs
from jim.splitting.parameters import parameter
from jim.splitting.subscription import Subscription
from jim.splitting.units import File, Stream

NAME = "LumiBased"


@dataclass(frozen=True)
class Parameters(LumiParameters):
    """What LumiBased takes."""

    lumis_per_job: int = parameter(1, whole(1), "lumis of one job")
    total_lumis: int = parameter(0, whole(), "lumis in all; 0: every one")


def split(work: Subscription, p: Parameters) -> Stream:
    """Fill each job with the same number of lumis."""
    return lumi_jobs(work, p, _ByNumber(p))


class _ByNumber(Filling):
    def __init__(self, p: Parameters) -> None:
        self.limit = self.limit_here = p.lumis_per_job
        self.left = p.total_lumis or self.ANY

    def enough(self, files: Sequence[File]) -> bool:
        return sum(file.lumis for file in files) >= self.limit

    def enter(self, file: File, average: int, draft: Draft | None) -> Alone | None:
        return None

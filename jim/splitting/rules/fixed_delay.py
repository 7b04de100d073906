"""FixedDelay: no job until a fixed time, then one job with all files."""

from __future__ import annotations

from dataclasses import dataclass

from jim.splitting.checked_values import number
from jim.splitting.files_and_jobs import SplitJob, Stream
from jim.splitting.job_maker import JobMaker
from jim.splitting.parameters import Common, parameter
from jim.splitting.subscription import Subscription

NAME = "FixedDelay"


@dataclass(frozen=True)
class Parameters(Common):
    """The parameters of FixedDelay."""

    trigger_time: float = parameter(0, number(), "time to make the job, in seconds since 1970")


def full(_job: SplitJob, _p: Parameters) -> bool:
    """Tell that more files may always change the last job."""
    return False


def split(work: Subscription, p: Parameters) -> Stream:
    """Make the job if its time has come."""
    if work.to_read and work.now > p.trigger_time:
        jobs = JobMaker(work, p)
        jobs.open_group(None)
        yield jobs.make(work.to_read)

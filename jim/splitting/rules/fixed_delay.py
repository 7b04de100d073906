"""FixedDelay: nothing until a certain time, then one job with all files."""

from __future__ import annotations

from dataclasses import dataclass

from jim.splitting.kinds import number
from jim.splitting.making import Jobs
from jim.splitting.parameters import Common, parameter
from jim.splitting.subscription import Subscription
from jim.splitting.units import Stream

NAME = "FixedDelay"


@dataclass(frozen=True)
class Parameters(Common):
    """What FixedDelay takes."""

    trigger_time: float = parameter(0, number(), "when to make the job, in seconds since the epoch")


def split(work: Subscription, p: Parameters) -> Stream:
    """Make the job, if its time has come."""
    if work.to_read and work.now > p.trigger_time:
        jobs = Jobs(work, p)
        jobs.open_group(None)
        yield jobs.make(work.to_read)

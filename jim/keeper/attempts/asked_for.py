"""What local jobs ask the batch system for, and with what they were sent."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

from jim.errors import JimError
from jim.jobs import GridJob, LocalJob, Submission
from jim.keeper.keeper import Keeper
from jim.model import Resources
from jim.request import handler_of
from jim.trust.plugins import foreign
from jim.work.bundles import bundle_of

AVOID = "avoid"


def wall_seconds(keeper: Keeper, grid: int, n: int, k: int | None = None) -> float:
    """Return the time limit with which a local job was sent in submission k, or the last time; infinite if none.

    An older version did not store the limit: then return the limit with which the local job would be sent now.
    """
    local = keeper.store.local_job(grid, n)
    sent = keeper.store.submission(grid, k or local.submission or 0)
    known = sent.wall_seconds if sent else None
    return (resources_of(keeper, local).wall_seconds if known is None else known) or math.inf


def resources_of(keeper: Keeper, local: LocalJob) -> Resources:
    """Return the resources of a local job from its changes, its piece, its request, its job type and the site."""
    job = keeper.store.grid_job(local.grid)
    with suppress(JimError, OSError), foreign(f"job type {job.job_type}"):  # the job type may be gone
        handler = handler_of(job.job_type, keeper.site.site.handlers)
        return keeper.site.complete(handler.resources({**job.request, **local.own}))
    return Resources(wall_seconds=keeper.site.batch.wall_seconds)


def program(keeper: Keeper, grid: int, n: int) -> str:
    """Return the program that a request names for a local job; empty: its job type decides."""
    request = {**keeper.store.grid_job(grid).request, **keeper.store.local_job(grid, n).own}
    return str(request.get("executable") or "")


def _told(resources: Resources) -> dict[str, Any]:
    return {name: value for name, value in resources._asdict().items() if value is not None}


def intend(keeper: Keeper, job: GridJob, k: int, mark: str, waiting: list[LocalJob]) -> None:
    """Record the intent to send these local jobs, with the resources that they ask for."""
    resources, bundle = resources_of(keeper, waiting[0]), bundle_of(job.request)
    carriers = bundle.carriers(len(waiting)) if bundle else 0
    keeper.store.intend(job.id, k, mark, waiting, resources.wall_seconds or 0, _told(resources), carriers)


def keep_sent_with(keeper: Keeper, submission: Submission, first: LocalJob, avoid: tuple[str, ...]) -> None:
    """Store the settings of a submission before it is sent, if they differ from those of the intent."""
    resources = resources_of(keeper, first)
    seconds, settings = resources.wall_seconds or 0, _told(resources)
    if avoid:
        settings[AVOID] = list(avoid)
    if seconds != submission.wall_seconds or settings != submission.asked:
        keeper.store.set_submission(submission.grid, submission.k, wall_seconds=seconds, asked=settings)

"""The status of a grid job in one word, for people and for gatekeepers, and what a splitter makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from jim.model import Standing, State, Step, Verb, roll_up

if TYPE_CHECKING:
    from jim.jobs import GridJob

SPLIT_TYPES = {"single": "Single", "will split": "WillSplit", "split": "Splitted", "not split": "WillSplit"}


def status(job: GridJob, counts: Mapping[State, int], *, strict: bool = False) -> str:
    """Return the status of a grid job for people; `strict` as in `roll_up`."""
    if job.step is Step.FINISHED:
        return job.outcome
    moving = sum(counts.get(state, 0) for state in (State.RUNNING, State.COMPLETING, State.SUBMITTING))
    if job.wish == Verb.SUSPEND and not moving:
        return State.SUSPENDED.value
    if not any(counts.values()):
        return State.NEW.value
    return roll_up(counts, strict=strict).value


def standing(job: GridJob, counts: Mapping[State, int]) -> Standing:
    """Return the state of a grid job for gatekeepers."""
    if job.step is Step.FINISHED:
        if job.outcome == State.COMPLETED.value:
            return Standing.DONE
        cancelled = job.outcome == State.KILLED.value or (job.wish == Verb.CANCEL and job.size)
        return Standing.CANCELLED if cancelled else Standing.FAILED
    if status(job, counts) == State.SUSPENDED.value:
        return Standing.SUSPENDED
    if job.started:
        return Standing.ACTIVE
    return Standing.PENDING if job.step in (Step.ACTIVE, Step.COLLECTING) else Standing.ACCEPTED


def herd(job: GridJob) -> str:
    """Return whether a splitter makes a herd of it: single, will split, split, or not split if that failed."""
    if not job.splitter:
        return "single"
    if job.size:
        return "split"
    return "not split" if job.step is Step.FINISHED else "will split"


def master(job: GridJob) -> int:
    """Return the grid job whose work it does, as RFC 15 of DIRAC means MasterJobId; its own number without one."""
    return int(job.came_from.partition(".")[0] or job.id)

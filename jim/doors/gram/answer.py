"""What a poll of GRAM prints of a grid job."""

from __future__ import annotations

from collections.abc import Mapping

from jim.doors.gram.protocol import (
    ACTIVE,
    DONE,
    EXECUTION_FAILED,
    PENDING,
    SUSPENDED,
    UNSUBMITTED,
    USER_CANCELLED,
    failure,
    state,
)
from jim.jobs import GridJob
from jim.model import State, Step, Verb
from jim.statusdb.record import status


def door_answer(job: GridJob, counts: Mapping[State, int]) -> bytes:
    """Write the lines that a poll prints."""
    if job.step is Step.FINISHED and job.outcome != State.COMPLETED.value:
        # Also if a local job had failed before.
        cancelled = job.outcome == State.KILLED.value or (job.wish == Verb.CANCEL and job.size)
        return failure(job.reason or job.outcome, USER_CANCELLED if cancelled else EXECUTION_FAILED)
    return state(_gram_state(job, counts))


def _gram_state(job: GridJob, counts: Mapping[State, int]) -> int:
    if job.step is Step.FINISHED:
        return DONE
    if status(job, counts) == State.SUSPENDED.value:
        return SUSPENDED
    if job.started:
        return ACTIVE
    return PENDING if job.step in (Step.ACTIVE, Step.COLLECTING) else UNSUBMITTED

"""The status of a grid job in one word, and the record that every machine-readable output shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jim.clock import age_seconds
from jim.errors import JimError
from jim.evidence.exit_record import read_exit_record
from jim.evidence.transitions import ENDED_BADLY
from jim.jobs import LocalJob
from jim.model import Standing, State, Step, Verb, roll_up

if TYPE_CHECKING:
    from jim.jobs import GridJob
    from jim.statusdb.contract import Store

REASONS_TOLD = 3


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


def exit_code(store: Store, job: GridJob) -> int:
    """Return the exit code of a grid job: a single program's own code, otherwise 1 unless all is well."""
    if job.outcome == State.COMPLETED.value:
        return 0
    attempts = store.attempts(job.id, n=0) if job.size == 1 else []
    if not attempts or not attempts[-1].record:
        return 1
    try:
        record = read_exit_record(attempts[-1].record)
    except JimError:  # from another version
        return 1
    return 128 + record.signal if record.signal else record.code or 1


def herd(job: GridJob) -> str:
    """Return whether a splitter makes a herd of it: single, will split, split, or not split if that failed."""
    if not job.splitter:
        return "single"
    if job.size:
        return "split"
    return "not split" if job.step is Step.FINISHED else "will split"


SPLIT_TYPES = {"single": "Single", "will split": "WillSplit", "split": "Splitted", "not split": "WillSplit"}


def master(job: GridJob) -> int:
    """Return the grid job whose work it does, as RFC 15 of DIRAC means MasterJobId; its own number without one."""
    return int(job.came_from.partition(".")[0] or job.id)


def failures(store: Store, grid: int) -> str:
    """Return why local jobs did not complete, the most frequent reasons first."""
    ended_badly = (State.FAILED, State.KILLED, State.NEW)
    counts = store.counts(grid)
    if not any(counts.get(state) for state in ended_badly):
        return ""
    found, different = store.reasons(grid, ended_badly, REASONS_TOLD)
    if different == 1:
        return found[0].reason.words
    told = [f"{each.reason} ({each.times:,})" for each in found if each.reason]
    rest = different - REASONS_TOLD
    return ", ".join([*told, f"{rest:,} more"] if rest > 0 else told)


def record(store: Store, job: GridJob, seen: str = "", *, strict: bool = False) -> dict[str, Any]:
    """Return the record of a grid job that every machine-readable output shows."""
    counts = store.counts(job.id)
    now = store.clock.utc()
    looked = job.updated if job.step is Step.FINISHED else max(seen, job.updated)
    return {
        "id": job.id,
        "key": job.key,
        "type": job.job_type,
        "owner": job.owner,
        "step": job.step.value,
        "status": status(job, counts, strict=strict),
        "herd": herd(job),
        "MasterJobId": master(job),
        "JobSplitType": SPLIT_TYPES[herd(job)],
        "came_from": job.came_from,
        "counts": {state.value: count for state, count in sorted(counts.items(), key=lambda each: each[0].value)},
        "reason": job.reason,
        "witness": "keeper",
        "seen": looked,
        "age_s": round(0.0 if job.step is Step.FINISHED else age_seconds(looked, now), 1),
        "created": job.created,
        "updated": job.updated,
    }


def retryable(store: Store, grid: int) -> list[LocalJob]:
    """Return the local jobs of a whole grid job that may be tried again, in order."""
    return sorted([*store.local_jobs(grid, ENDED_BADLY), *store.held(grid)], key=lambda each: each.n)

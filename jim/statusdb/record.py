"""How a grid job is, in one word and in the one record that every machine-readable output shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jim.clock import age_seconds
from jim.evidence.transitions import ENDED_BADLY
from jim.jobs import LocalJob
from jim.model import State, Step, Verb, roll_up

if TYPE_CHECKING:
    from jim.jobs import GridJob
    from jim.statusdb.contract import Store

REASONS_TOLD = 3


def status(job: GridJob, counts: Mapping[State, int], *, strict: bool = False) -> str:
    """Say in one word how a grid job is, for people; `strict` as in `roll_up`."""
    if job.step is Step.FINISHED:
        return job.outcome
    moving = sum(counts.get(state, 0) for state in (State.RUNNING, State.COMPLETING, State.SUBMITTING))
    if job.wish == Verb.SUSPEND and not moving:
        return State.SUSPENDED.value
    if not any(counts.values()):
        return State.NEW.value
    return roll_up(counts, strict=strict).value


def herd(job: GridJob) -> str:
    """Say whether a splitter makes a herd of it: single, will split, or split; not split, where it could not."""
    if not job.splitter:
        return "single"
    if job.size:
        return "split"
    return "not split" if job.step is Step.FINISHED else "will split"


def failures(store: Store, grid: int) -> str:
    """Tell why local jobs did not complete, the most frequent reasons first."""
    ended_badly = (State.FAILED, State.KILLED, State.NEW)
    if not any(store.counts(grid).get(state) for state in ended_badly):
        return ""
    found, different = store.reasons(grid, ended_badly, REASONS_TOLD)
    if different == 1:
        return found[0].reason.words
    told = [f"{each.reason} ({each.times:,})" for each in found if each.reason]
    rest = different - REASONS_TOLD
    return ", ".join([*told, f"{rest:,} more"] if rest > 0 else told)


def record(store: Store, job: GridJob, seen: str = "", *, strict: bool = False) -> dict[str, Any]:
    """Give the record that every machine-readable output shows of a grid job."""
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
        "counts": {state.value: count for state, count in sorted(counts.items(), key=lambda each: each[0].value)},
        "reason": job.reason,
        "witness": "keeper",
        "seen": looked,
        "age_s": round(0.0 if job.step is Step.FINISHED else age_seconds(looked, now), 1),
        "created": job.created,
        "updated": job.updated,
    }


def retryable(store: Store, grid: int) -> list[LocalJob]:
    """Give the local jobs of a whole grid job that may be tried again, in order."""
    return sorted([*store.local_jobs(grid, ENDED_BADLY), *store.held(grid)], key=lambda each: each.n)

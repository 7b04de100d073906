"""What people and gatekeepers are told of a grid job: its record for programs, its exit code, and why it failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jim.clock import age_seconds
from jim.errors import JimError
from jim.evidence.exit_record import read_exit_record
from jim.evidence.transitions import ENDED_BADLY
from jim.jobs import GridJob, LocalJob
from jim.model import State, Step
from jim.statusdb.status import SPLIT_TYPES, herd, master, status
from jim.statusdb.store import Store

REASONS_TOLD = 3


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


def failures(store: Store, grid: int) -> str:
    """Return why local jobs did not complete, the most frequent reasons first."""
    ended_badly = (State.FAILED, State.KILLED, State.NEW)
    counts = store.counts(grid)
    if not any(counts.get(state) for state in ended_badly):
        return ""
    found, different = store.seen.reasons(grid, ended_badly, REASONS_TOLD)
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


def completed_of(store: Store, grid: int, slices: Sequence[tuple[int, int]]) -> list[LocalJob]:
    """Return the completed local jobs in these slices, or of a whole grid job, in order."""
    if not slices:
        return sorted(store.local_jobs(grid, (State.COMPLETED,)), key=lambda each: each.n)
    named = (store.local_job(grid, n) for first, last in slices for n in range(first, last + 1))
    return [each for each in named if each.state is State.COMPLETED]


def from_gatekeeper(store: Store, job: GridJob) -> bool:
    """Tell whether a gatekeeper has handed in a grid job, as far as it said who has sent it."""
    sender = store.senders.of(job.id)
    return bool(sender.contact or sender.dn or store.at_doors.of(job.id).places)


def retryable(store: Store, grid: int) -> list[LocalJob]:
    """Return the local jobs of a whole grid job that may be tried again, in order."""
    return sorted([*store.local_jobs(grid, ENDED_BADLY), *store.held(grid)], key=lambda each: each.n)

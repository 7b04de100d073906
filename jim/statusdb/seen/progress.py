"""The progress of a grid job in one line, for gatekeepers whose users see nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jim.model import FROZEN, State

if TYPE_CHECKING:
    from jim.jobs import GridJob
    from jim.statusdb.store import Store


def progress(store: Store, job: GridJob) -> str:
    """Return the latest phase, and how many local jobs have completed and failed."""
    counts = store.counts(job.id)
    size = sum(count for state, count in counts.items() if state not in FROZEN)
    if not size:
        return "not split yet"
    done = f"{counts.get(State.COMPLETED, 0):,} of {size:,} local job{'' if size == 1 else 's'} completed"
    return "; ".join(filter(None, (_phase(store, job.id), done, _failed(store, job.id, counts.get(State.FAILED, 0)))))


def _phase(store: Store, grid: int) -> str:
    found = max(store.publications.phases(grid), key=lambda each: each.updated, default=None)
    return f"{found.name} {found.done:,} of {found.total:,} {found.unit}" if found else ""


def _failed(store: Store, grid: int, count: int) -> str:
    """Return the most frequent reason of failures, and the host of the first one."""
    if not count:
        return ""
    found, _ = store.seen.reasons(grid, (State.FAILED,), 1)
    first = store.local_jobs(grid, (State.FAILED,), limit=1)
    attempts = store.attempts(grid, n=first[0].n) if first else []
    host = f" on {attempts[-1].host}" if count == 1 and attempts and attempts[-1].host else ""
    return f"{count:,} failed: {found[0].reason.words if found else 'for no known reason'}{host}"

"""Recording verdicts: an attempt ends once, and its local job is final or waits for the next attempt."""

from __future__ import annotations

import logging

from jim.house import House, Key
from jim.idealizer.retry import NEXT_ATTEMPT, delay
from jim.model import State
from jim.statusdb.rows import LocalJob
from jim.verdict import Verdict

log = logging.getLogger(__name__)


def cancelled(house: House, grid: int, n: int) -> bool:
    """Tell whether someone wished this local job, or all of its grid job, to end."""
    return "cancel" in house.store.wishes(grid, n)


def record(house: House, key: Key, verdict: Verdict) -> None:
    """Give an attempt its verdict; the second one changes nothing."""
    with house.store.transaction():
        attempt = house.store.attempt(*key)
        if attempt is None or attempt.verdict:
            return
        if verdict.state is State.COMPLETING:
            house.store.set_local_job(
                attempt.grid, attempt.n, state=State.COMPLETING, witness=verdict.witness, reason=""
            )
            return
        word = "again" if verdict.again else verdict.state.value
        house.store.set_attempt(*key, verdict=word, reason=verdict.reason)
        job = house.store.local_job(attempt.grid, attempt.n)
        if attempt.attempt == job.attempt:
            _move_on(house, job, verdict)
        house.doubts.pop(key, None)
        house.unverified.pop(key, None)
    if verdict.reason:  # the journal has the others, too; 100,000 good ends would drive the rest out of the log
        log.info("%d.%d attempt %d: %s %s", attempt.grid, attempt.n, attempt.attempt, word, verdict.reason)


def _move_on(house: House, job: LocalJob, verdict: Verdict) -> None:
    spent = job.spent + verdict.spent
    limit = house.site.limits.attempts
    if not verdict.again:
        house.store.set_local_job(
            job.grid, job.n, state=verdict.state, witness=verdict.witness, reason=verdict.reason, spent=spent
        )
    elif spent >= limit:
        reason = f"{verdict.reason} (attempt {spent} of {limit})"
        house.store.set_local_job(
            job.grid, job.n, state=State.FAILED, witness=verdict.witness, reason=reason, spent=spent
        )
    else:
        house.store.set_local_job(
            job.grid,
            job.n,
            state=State.WAITING,
            witness=verdict.witness,
            reason=f"attempt {job.attempt}: {verdict.reason}",
            spent=spent,
            recovery=verdict.recovery or job.recovery,
            due=house.clock.boot() + delay(NEXT_ATTEMPT, job.attempt),  # not `spent`: what was never sent waits, too
        )

"""Finishes grid jobs: when all of their local jobs have ended, and how they ended as a whole."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from jim.jobs import GridJob
from jim.keeper.keeper import Keeper
from jim.keeper.reasons import NEVER_SENT
from jim.model import FROZEN, State, Step, Verb, Witness, roll_up
from jim.statusdb.seen.record import failures
from jim.workdir import credentials

log = logging.getLogger(__name__)
UNSPLIT = (Step.ACCEPTED, Step.RESOLVED)  # a restore sets RESOLVED back to ACCEPTED
FEW = 100  # local jobs: about 1 ms of the loop


def is_unsent(job: GridJob) -> bool:
    """Tell whether nothing of a cancelled grid job was sent: it has no outputs, and so it gets no tar."""
    return job.wish == Verb.CANCEL and job.step in (Step.SPLIT, Step.ACTIVE) and not job.submissions


def end_unsent(keeper: Keeper, job: GridJob) -> bool:
    """End a cancelled grid job of which nothing was sent, unless it is too large to do so at once; tell whether."""
    ended = keeper.store.end_waiting(job.id, NEVER_SENT, FEW)
    if 0 < ended == job.size:  # mostly; thousands may be cancelled at once, so nothing is read again
        _finish_as(keeper, job, {State.KILLED: ended}, NEVER_SENT.words, {})
        return True
    if ended < FEW and all_ended(keeper, job):
        _finish(keeper, job, {})
        return True
    return False


def all_ended(keeper: Keeper, job: GridJob) -> bool:
    """Tell whether nothing of a grid job goes on."""
    if job.step in UNSPLIT:  # nothing was sent yet: only a cancel or a failed split ends it here
        # A split that still runs comes too late, and may never end; but what looks it up makes its directory.
        splits = job.step is Step.RESOLVED or not keeper.workers.busy(("split", job.id))
        return bool(job.outcome) or (job.wish == Verb.CANCEL and splits)
    return all(state.final for state in keeper.store.counts(job.id))


def finish(keeper: Keeper, grid: int, result: Mapping[str, Any]) -> None:
    """Store how a grid job ended; without a result, there is no tar."""
    keeper.lost.left_out.pop(grid, None)
    keeper.lost.spoilt.pop(grid, None)
    _finish(keeper, keeper.store.grid_job(grid), result)


def _finish(keeper: Keeper, job: GridJob, result: Mapping[str, Any]) -> None:
    counts = keeper.store.counts(job.id)
    _finish_as(keeper, job, counts, "" if job.outcome else failures(keeper.store, job.id), result)


def _finish_as(keeper: Keeper, job: GridJob, counts: Mapping[State, int], why: str, result: Mapping[str, Any]) -> None:
    outcome, reason = _outcome(job, counts, strict=keeper.site.site.strict_status)
    reason = ": ".join(filter(None, (reason, why)))
    if lost := result.get("lost"):
        words = f"outputs of {lost:,} completed local job{'s' if lost > 1 else ''} are gone, and not in this tar"
        reason = "; ".join(filter(None, (reason, f"{words}: an earlier tar had them, or a task has stored them")))
    end(keeper, job, outcome, reason, result)
    log.info("%d: finished as %s %s", job.id, outcome.value, reason)


def end(keeper: Keeper, job: GridJob, outcome: State, reason: str, result: Mapping[str, Any]) -> None:
    """Store the outcome of a grid job."""
    if job.place:
        with suppress(OSError):  # else aging removes the directories
            credentials.remove(keeper.site.work / job.place)
    wish = job.wish
    with keeper.store.transaction():
        if not job.place and result:  # the grid job was never split
            keeper.store.set_grid_job(job.id, place=Path(result["tar"]).parent.parent.name)
        if wish == Verb.CANCEL and outcome is not State.COMPLETED:
            kept = wish
        else:  # a finished grid job is neither suspended nor cancelled
            kept = ""
            if wish and wish != Verb.RESUME:
                keeper.store.note(job.id, f"{wish} changes nothing", Witness.KEEPER, f"already {outcome.value}")
        columns = {"outcome": outcome.value, "reason": reason, "result": result, "wish": kept}
        keeper.store.set_grid_job(job.id, step=Step.FINISHED, **columns)


def _outcome(job: GridJob, counts: Mapping[State, int], *, strict: bool) -> tuple[State, str]:
    """Return how a grid job ended as a whole, and the reason if it did not end well."""
    if job.outcome:  # a split that failed
        return State(job.outcome), job.reason
    bad = {state: counts.get(state, 0) for state in (State.FAILED, State.KILLED, State.NEW)}
    of_all = f"of {job.size:,} local job{'' if job.size == 1 else 's'}"
    words = {State.NEW: "never sent"}
    reason = ", ".join(f"{count:,} {of_all} {words.get(state, state.value)}" for state, count in bad.items() if count)
    if job.wish == Verb.CANCEL and (reason or not job.size):  # else the cancel came too late: all had completed
        outcome = State.FAILED if bad[State.FAILED] else State.KILLED
        return outcome, f"cancelled{': ' if reason else ''}{reason}"
    if bad[State.NEW] and not bad[State.FAILED]:
        return State.FAILED, reason
    if job.size and not any(count for state, count in counts.items() if state not in FROZEN):
        return _frozen(job)
    return roll_up(counts, strict=strict), reason


def _frozen(job: GridJob) -> tuple[State, str]:
    """Return how a grid job ended of which no local job counts any more: its task has released or recovered them."""
    outcome = State.KILLED if job.wish == Verb.CANCEL else State.FAILED
    return outcome, "none of its local jobs counts any more: others do their work"

"""Records verdicts: an attempt ends once, and its local job becomes final or waits for the next attempt."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from jim.errors import JimError
from jim.evidence.analysis import Action, Decision
from jim.evidence.verdict import Verdict
from jim.jobs import HELD, GridJob, Key, LocalJob, Submission
from jim.keeper.attempts import deciding
from jim.keeper.keeper import Keeper
from jim.model import NO_REASON, Resources, State, Verb, Witness
from jim.plugins import foreign
from jim.request import handler_of

log = logging.getLogger(__name__)
# What becomes of an attempt that is not the last one.
WORDS = {Action.RETRY: "again", Action.ELSEWHERE: "elsewhere", Action.HOLD: "held"}


def cancelled(keeper: Keeper, grid: int, n: int) -> bool:
    """Tell whether a user has cancelled this local job or its grid job."""
    return Verb.CANCEL in keeper.store.wishes(grid, n)


def wall_seconds(keeper: Keeper, grid: int, n: int, k: int | None = None) -> float:
    """Return the time limit with which a local job was sent in submission k, or the last time; infinite if none.

    An older version did not store the limit: then return the limit with which the local job would be sent now.
    """
    local = keeper.store.local_job(grid, n)
    sent = keeper.store.submission(grid, k or local.submission or 0)
    known = sent.wall_seconds if sent else None
    return (asked(keeper, local).wall_seconds if known is None else known) or math.inf


def asked(keeper: Keeper, local: LocalJob) -> Resources:
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
    resources = asked(keeper, waiting[0])
    keeper.store.intend(job.id, k, mark, waiting, resources.wall_seconds or 0, _told(resources))


def keep_sent_with(keeper: Keeper, submission: Submission, first: LocalJob, avoid: tuple[str, ...]) -> None:
    """Store the settings of a submission before it is sent, if they differ from those of the intent."""
    resources = asked(keeper, first)
    seconds, told = resources.wall_seconds or 0, _told(resources)
    if avoid:
        told[deciding.AVOID] = list(avoid)
    if seconds != submission.wall_seconds or told != submission.asked:
        keeper.store.set_submission(submission.grid, submission.k, wall_seconds=seconds, asked=told)


def was_suspended(keeper: Keeper, grid: int, n: int) -> bool:
    """Tell whether a local job was ever seen suspended: then its run time is shorter than its wall time."""
    return any(line.now == State.SUSPENDED.value for line in keeper.store.journals.of(grid, n))


def record(keeper: Keeper, key: Key, verdict: Verdict) -> None:
    """Record the verdict of an attempt; a second verdict changes nothing."""
    with keeper.store.transaction():
        attempt = keeper.store.attempt(*key)
        if attempt is None or attempt.verdict:
            return
        if verdict.state is State.COMPLETING:
            keeper.store.set_local_job(
                attempt.grid, attempt.n, state=State.COMPLETING, witness=verdict.witness, reason=NO_REASON
            )
            return
        job = keeper.store.local_job(attempt.grid, attempt.n)
        decision = deciding.decision(keeper, attempt, job, verdict)
        word = WORDS.get(decision.action, verdict.state.value)
        keeper.store.set_attempt(*key, verdict=word, reason=verdict.reason, nonce="")
        if attempt.attempt == job.attempt:
            _move_on(keeper, job, verdict, decision)
        keeper.doubts.pop(key, None)
        if verdict.state is State.FAILED and attempt.host and keeper.store.has_started_off(attempt.host):
            keeper.hosts.ask()
    if verdict.reason:  # good ends are in the journal only: 100,000 of them would drive the rest out of the log
        log.info("%d.%d attempt %d: %s %s", attempt.grid, attempt.n, attempt.attempt, word, verdict.reason)


def spoil(keeper: Keeper, key: Key, verdict: Verdict, *, gives_up: bool, failed: Callable[[], None]) -> None:
    """Record that the outputs of a completed local job are no longer there, in a transaction of the caller's.

    `failed` is called while the local job is failed, before it may wait for its next attempt.
    """
    attempt = keeper.store.attempt(*key)
    if attempt is None or attempt.verdict != State.COMPLETED.value:
        return
    job = keeper.store.local_job(attempt.grid, attempt.n)
    if job.state is not State.COMPLETED or job.attempt != attempt.attempt:
        return
    job = job._replace(spent=max(0, job.spent - 1))  # this attempt counts once
    decision = Decision(Action.GIVE_UP) if gives_up else deciding.decision(keeper, attempt, job, verdict)
    word = WORDS.get(decision.action, verdict.state.value)
    keeper.store.set_attempt(*key, verdict=word, reason=verdict.reason)
    keeper.store.set_local_job(job.grid, job.n, state=State.FAILED, witness=verdict.witness, reason=verdict.reason)
    failed()
    _move_on(keeper, job, verdict, decision)
    log.warning("%d.%d attempt %d: %s %s", attempt.grid, attempt.n, attempt.attempt, word, verdict.reason)


def _move_on(keeper: Keeper, job: LocalJob, verdict: Verdict, decision: Decision) -> None:
    spent, limit = job.spent + verdict.spent, deciding.limit_of(keeper, decision)
    said = f"{verdict.reason}; {decision.why}" if decision.why else verdict.reason.words
    state, more = verdict.state, dict[str, Any]()
    if decision.action is Action.HOLD:
        # A held local job waits until a person decides.
        state, said, more = (
            State.WAITING,
            f"held: {said}",
            {"due": HELD, "recovery": verdict.recovery or job.recovery},
        )
    elif decision.action is not Action.GIVE_UP and spent >= limit:
        told = verdict.reason.words if decision.change else said  # there is no next attempt that asks for more
        state, said = State.FAILED, f"{told} (attempt {spent} of {limit})"
    elif decision.action is not Action.GIVE_UP:
        state, said = State.WAITING, f"attempt {job.attempt}: {said}"
        more = {"due": deciding.due(keeper, job, verdict, decision), "recovery": verdict.recovery or job.recovery}
        if decision.change:
            more["changed"] = {**job.changed, **decision.change}
    if job.wish and state in (State.COMPLETED, State.FAILED):  # it ended by itself before the wish took effect
        more["wish"] = ""
        keeper.store.note(job.grid, f"{job.wish} changes nothing", Witness.KEEPER, f"already {state.value}", job.n)
    reason = verdict.reason.worded(said)
    keeper.store.set_local_job(
        job.grid, job.n, state=state, witness=verdict.witness, reason=reason, spent=spent, **more
    )

"""Records verdicts: an attempt ends once, and its local job becomes final or waits for the next attempt."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from jim.evidence.analysis import Action, Decision
from jim.evidence.verdict import Verdict, of_vanished, recovered
from jim.jobs import HELD, Attempt, Key, LocalJob
from jim.keeper.attempts import deciding
from jim.keeper.keeper import Keeper
from jim.model import NO_REASON, State, Verb, Witness
from jim.workdir.claims import trace
from jim.workdir.recovery import recovery_of
from jim.workdir.submission import submission_directory

log = logging.getLogger(__name__)
NEVER_TOUCHED = -1.0  # no claim is as old as that: only its wrapper's word ends such an attempt
# What becomes of an attempt that is not the last one.
WORDS = {Action.RETRY: "again", Action.ELSEWHERE: "elsewhere", Action.HOLD: "held"}


def cancelled(keeper: Keeper, grid: int, n: int) -> bool:
    """Tell whether a user has cancelled this local job or its grid job."""
    return Verb.CANCEL in keeper.store.wishes(grid, n)


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


def give_up(keeper: Keeper, key: Key, found: Verdict, touched: float) -> None:
    """Store the verdict for an attempt whose claim stays untouched. An attempt given up before keeps that verdict."""
    attempt = keeper.store.attempt(*key)
    told = json.loads(attempt.over)["verdict"] if attempt and attempt.over else _told(found)
    keeper.store.set_attempt(*key, over=json.dumps({"touched": touched, "verdict": told}))


def give_up_gone(keeper: Keeper, attempt: Attempt) -> None:
    """Give up an attempt of which no process lives, though the queue shows its carrier, which runs others."""
    directory = submission_directory(keeper.directory(attempt.grid), attempt.k)
    if attempt.verdict or attempt.over or not trace(directory, attempt.idx).gone:
        return
    found = of_vanished(None, cancelled=cancelled(keeper, attempt.grid, attempt.n))
    found = recovered(found, recovery_of(directory, attempt.idx))
    give_up(keeper, (attempt.grid, attempt.k, attempt.idx), found, NEVER_TOUCHED)


def _told(found: Verdict) -> dict[str, Any]:
    return {
        "state": found.state.value,
        "reason": found.reason.words,
        "kind": found.reason.kind,
        "facts": found.reason.facts,
        "witness": found.witness.value,
        "again": found.again,
        "spent": found.spent,
        "recovery": found.recovery,
    }


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
        words = verdict.reason.words if decision.change else said  # there is no next attempt that asks for more
        state, said = State.FAILED, f"{words} (attempt {spent} of {limit})"
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

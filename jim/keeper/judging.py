"""Records verdicts: an attempt ends once, and its local job becomes final or waits for the next attempt."""

from __future__ import annotations

import logging
import math
from contextlib import suppress
from itertools import takewhile
from typing import Any

from jim.errors import BadRequest, JimError
from jim.evidence.analysis import Action, Decision, Failed, decide
from jim.evidence.exit_record import read_exit_record
from jim.evidence.verdict import Verdict
from jim.idealizer.retry import NEXT_ATTEMPT, delay
from jim.jobs import HELD, Attempt, Key, LocalJob, Submission, whole_reason
from jim.keeper.keeper import Keeper
from jim.model import NO_REASON, Kind, Reason, State, Verb, Witness
from jim.plugins import foreign
from jim.request import handler_of

log = logging.getLogger(__name__)
# A refusal in words that no adapter knows, not even as a lost answer, with no job accepted. After so many refusals,
# which take three quarters of an hour, JIM takes the refusal as final.
NOES = (Kind.UNCLEAR, Kind.STUMBLED, Kind.REFUSED)
NOES_AT_MOST = 12
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
    seconds = asked_seconds(keeper, local) if sent is None or sent.wall_seconds is None else sent.wall_seconds
    return seconds or math.inf


def asked_seconds(keeper: Keeper, local: LocalJob) -> int:
    """Return the time limit for a local job from its piece, its request, its job type or the site; 0: none."""
    job, own = keeper.store.grid_job(local.grid), local.piece.attributes
    with suppress(JimError, OSError), foreign(f"job type {job.job_type}"):  # the job type may be gone
        asked = handler_of(job.job_type, keeper.site.site.handlers).resources({**job.request, **own})
        return keeper.site.complete(asked).wall_seconds or 0
    return keeper.site.batch.wall_seconds


def keep_sent_with(keeper: Keeper, submission: Submission, first: LocalJob) -> None:
    """Store the settings of a submission before it is sent, if an edit has changed them since the intent."""
    seconds = asked_seconds(keeper, first)
    if seconds != submission.wall_seconds:
        keeper.store.set_submission(submission.grid, submission.k, wall_seconds=seconds)


def was_suspended(keeper: Keeper, grid: int, n: int) -> bool:
    """Tell whether a local job was ever seen suspended: then its run time is shorter than its wall time."""
    return any(line.now == State.SUSPENDED.value for line in keeper.store.journal(grid, n))


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
        decision = _decision(keeper, attempt, job, verdict)
        word = WORDS.get(decision.action, verdict.state.value)
        keeper.store.set_attempt(*key, verdict=word, reason=verdict.reason)
        if attempt.attempt == job.attempt:
            _move_on(keeper, job, verdict, decision)
        keeper.doubts.pop(key, None)
    if verdict.reason:  # good ends are in the journal only: 100,000 of them would drive the rest out of the log
        log.info("%d.%d attempt %d: %s %s", attempt.grid, attempt.n, attempt.attempt, word, verdict.reason)


def _decision(keeper: Keeper, attempt: Attempt, job: LocalJob, verdict: Verdict) -> Decision:
    """Return the decision on a failed attempt, from the analyser of the job type or of the site."""
    if verdict.state is not State.FAILED:
        return Decision(Action.GIVE_UP)
    if verdict.witness is Witness.SUBMISSION or not verdict.spent:  # the attempt never began: nothing to analyse
        if verdict.again and _is_no(verdict.reason) and _noes(keeper, attempt) >= NOES_AT_MOST:
            return Decision(Action.GIVE_UP, f"refused {NOES_AT_MOST} times in a row")
        return Decision(Action.RETRY if verdict.again else Action.GIVE_UP)
    site, grid_job = keeper.site, keeper.store.grid_job(attempt.grid)
    try:
        name = handler_of(grid_job.job_type, site.site.handlers).analyser or site.limits.analyser
    except (BadRequest, OSError):  # the job type is gone
        name = site.limits.analyser
    failed = Failed(
        verdict.reason.words,
        verdict.witness,
        verdict.again,
        read_exit_record(attempt.record) if attempt.record else None,
        attempt.host,
        attempt.attempt,
        job.spent + 1,
        site.limits.attempts,
        verdict.reason.kind,
    )
    decision = decide(name, site.site.handlers, failed)
    if decision.action is Action.ELSEWHERE:
        return _elsewhere(keeper, decision, attempt.host)
    return decision


def _is_no(reason: Reason) -> bool:
    """Tell whether the batch command refused the submission, by its exit code.

    A reason of an older version has no kind and does not count: its local job is sent more often before JIM gives up.
    """
    code = reason.facts.get("code")  # None if the command did not return, negative if a signal ended it
    said_no = reason.kind is Kind.NOT_ACCEPTED and reason.facts.get("cause") in NOES
    return said_no and code is not None and code >= 0


def _noes(keeper: Keeper, attempt: Attempt) -> int:
    """Count the refused attempts in a row, up to and including this one."""
    before = [each for each in keeper.store.attempts(attempt.grid, n=attempt.n) if each.attempt < attempt.attempt]
    same = takewhile(lambda each: each.verdict == "again" and _is_no(whole_reason(each)), reversed(before))
    return 1 + sum(1 for _ in same)


def _elsewhere(keeper: Keeper, decision: Decision, host: str) -> Decision:
    """Avoid a host; if the batch system cannot do so, or no other host is known, retry anywhere."""
    action, where = Action.RETRY, "on any host"
    if not host or not keeper.adapter.can_avoid:
        where += f": the batch system cannot be told to avoid {host or 'that host'}"
    elif not keeper.store.has_started_off(host):
        where += f": no other host than {host} has been seen yet"
    else:
        action, where = Action.ELSEWHERE, f"elsewhere, not on {host}"
    return Decision(action, "; ".join(filter(None, (decision.why, where))))


def _move_on(keeper: Keeper, job: LocalJob, verdict: Verdict, decision: Decision) -> None:
    spent, limit = job.spent + verdict.spent, keeper.site.limits.attempts
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
        state, said = State.FAILED, f"{said} (attempt {spent} of {limit})"
    elif decision.action is not Action.GIVE_UP:
        # Not by `spent`: a local job that was never sent waits, too.
        due = 0.0 if verdict.at_once else keeper.clock.steady() + delay(NEXT_ATTEMPT, job.attempt)
        state, said = State.WAITING, f"attempt {job.attempt}: {said}"
        more = {"due": due, "recovery": verdict.recovery or job.recovery}
    if job.wish and state in (State.COMPLETED, State.FAILED):  # it ended by itself before the wish took effect
        more["wish"] = ""
        keeper.store.note(job.grid, f"{job.wish} changes nothing", Witness.KEEPER, f"already {state.value}", job.n)
    reason = verdict.reason.worded(said)
    keeper.store.set_local_job(
        job.grid, job.n, state=state, witness=verdict.witness, reason=reason, spent=spent, **more
    )

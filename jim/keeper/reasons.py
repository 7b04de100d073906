"""The keeper's reasons for changes of local jobs and submissions, in words, all in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jim.errors import JimError
from jim.idealizer.reasons import reason_of
from jim.jobs import Attempt, whole_reason
from jim.model import Kind, Reason, State, Verb

NEVER_SENT = Reason(Kind.CANCELLED, words="cancelled before it was submitted")
SUBMISSION_CANCELLED = Reason(Kind.CANCELLED, words="cancelled")


def of_wish(verb: Verb, words: str) -> Reason:
    """Return the reason of a change that a user has requested."""
    return Reason(Kind.WISHED, {"verb": verb}, words)


DONE_AGAIN = of_wish(Verb.REDO, "done again, as a person asked")
AGAIN, RESUMED = of_wish(Verb.RETRY, "retry"), of_wish(Verb.RESUME, "resumed")


def forced(to: State, words: str) -> Reason:
    """Return the reason of an end that a user has forced."""
    return of_wish(Verb.FORCE, f"forced to be {to.value}: {words}")


def split_again(before: str) -> Reason:
    """Return the reason of a local job whose work new local jobs do."""
    return of_wish(Verb.RESPLIT, f"split again: {before}" if before else "split again")


def eaten(attempt: Attempt, host: str) -> Reason:
    """Return the reason of a local job that is tried again because a black hole has eaten its attempt."""
    return whole_reason(attempt).worded(
        f"attempt {attempt.attempt} does not count: {host} is a black hole: {attempt.reason}"
    )


def not_listed(batch_id: str) -> Reason:
    """Return the reason of a submission whose batch job the batch system has accepted but does not list."""
    return Reason(Kind.NOT_LISTED, {"batch_id": batch_id}, f"batch job {batch_id} was promised but is not listed")


def not_now(error: BaseException) -> Reason:
    """Return the reason of a submission that the batch system claims not to have taken: this is no clear answer."""
    reason = reason_of(error)
    return reason.worded(f"no clear answer: {reason}")


def cannot_be_sent(error: BaseException) -> Reason:
    """Return the reason of a submission for which the job type cannot name the payload."""
    words = str(error) if isinstance(error, JimError) else f"{type(error).__name__}: {error}"
    return Reason(Kind.NEVER_SENT, words=f"never sent: {words}")


def refused(k: int, why: Reason) -> Reason:
    """Return the reason of a grid job that sends no more, as a submission was refused."""
    facts: Mapping[str, Any] = {"cause": why.kind, **why.facts}
    return Reason(Kind.REFUSED, facts, f"submission {k} was refused by the batch system: {why}")


def avoiding(why: Reason, host: str) -> Reason:
    """Return the reason of a refusal that the request to avoid a host may have caused."""
    return why.worded(f"{why} (with the request to avoid {host})")

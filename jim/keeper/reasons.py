"""Why the keeper has done something to a local job or a submission, in words: the one place of this room for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jim.errors import JimError
from jim.idealizer.reasons import reason_of
from jim.model import Kind, Reason, State, Verb

NEVER_SENT = Reason(Kind.CANCELLED, words="cancelled before it was submitted")
SUBMISSION_CANCELLED = Reason(Kind.CANCELLED, words="cancelled")


def of_wish(verb: Verb, words: str) -> Reason:
    """Say that somebody has wished it."""
    return Reason(Kind.WISHED, {"verb": verb}, words)


AGAIN, RESUMED = of_wish(Verb.RETRY, "retry"), of_wish(Verb.RESUME, "resumed")


def forced(to: State, words: str) -> Reason:
    """Say that somebody says how it has ended."""
    return of_wish(Verb.FORCE, f"forced to be {to.value}: {words}")


def split_again(before: str) -> Reason:
    """Say that others do its work."""
    return of_wish(Verb.RESPLIT, f"split again: {before}" if before else "split again")


def not_listed(batch_id: str) -> Reason:
    """Say that the batch system does not show what it has promised."""
    return Reason(Kind.NOT_LISTED, {"batch_id": batch_id}, f"batch job {batch_id} was promised but is not listed")


def not_now(error: BaseException) -> Reason:
    """Say that the batch system says that it has done nothing, which is no answer either."""
    reason = reason_of(error)
    return reason.worded(f"no clear answer: {reason}")


def cannot_be_sent(error: BaseException) -> Reason:
    """Say that nobody can say what to run."""
    words = str(error) if isinstance(error, JimError) else f"{type(error).__name__}: {error}"
    return Reason(Kind.NEVER_SENT, words=f"never sent: {words}")


def refused(k: int, why: Reason) -> Reason:
    """Say that a submission was refused, on which nothing else could be sent either."""
    facts: Mapping[str, Any] = {"cause": why.kind, **why.facts}
    return Reason(Kind.REFUSED, facts, f"submission {k} was refused by the batch system: {why}")


def avoiding(why: Reason, host: str) -> Reason:
    """Say that it may have been refused for the wish to avoid a host."""
    return why.worded(f"{why} (told to avoid {host})")

"""Decides what happens after a failed attempt: pure functions from the known facts to a decision.

A job type (`analyser` of its handler) or a site (`limits.analyser`) can name a function of its own, as
`package.module.function` in the directory `site.handlers`. The journal shows its decision and reason. The site limits
the number of attempts: `limits.attempts`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from jim.errors import JimError
from jim.evidence.exit_record import FATAL, HOLD, RECOVERABLE, ExitRecord
from jim.model import Kind, Witness
from jim.plugins import foreign, function

USUAL = "jim.evidence.analysis.usual"


class Action(Enum):
    """What JIM does next."""

    RETRY = "retry"
    ELSEWHERE = "retry elsewhere"  # not on the same host, if the batch system can exclude it
    HOLD = "hold"  # until a person retries, resumes or cancels the local job
    GIVE_UP = "give up"


@dataclass(frozen=True, slots=True)
class Failed:
    """The known facts about a failed attempt."""

    reason: str  # for people
    witness: Witness
    blameless: bool  # true: as far as JIM knows, the payload is not to blame, so the next attempt may succeed
    record: ExitRecord | None  # None if the wrapper left no exit record
    host: str  # host of the attempt; empty: it did not start
    attempt: int
    spent: int  # number of attempts that count, including this one
    limit: int
    kind: Kind = Kind.UNKNOWN  # of the reason


class Decision(NamedTuple):
    """The decision of an analyser, and its reason."""

    action: Action
    why: str = ""


Analyser = Callable[[Failed], Decision]


def usual(failed: Failed) -> Decision:
    """Decide by the recovery file, then by the cause, then by the host."""
    advice = failed.record.advice if failed.record else ""
    if advice == HOLD:
        return Decision(Action.HOLD)
    if advice in (FATAL, RECOVERABLE):
        return Decision(Action.RETRY if advice == RECOVERABLE else Action.GIVE_UP)
    if not failed.blameless:
        return Decision(Action.GIVE_UP)
    return Decision(Action.ELSEWHERE if failed.host and _is_the_hosts(failed) else Action.RETRY)


def _is_the_hosts(failed: Failed) -> bool:
    """Tell whether the host seems to be the cause: it went away, lacks something, or its files differ."""
    if failed.record is None:
        return failed.witness is Witness.CLAIM or failed.kind is Kind.NODE
    return failed.record.code == 0 or failed.record.lacking


def analyser(name: str, own: str = "") -> Analyser:
    """Find an analyser by its dotted name; a site's own one is in its directory of handlers."""
    found: Analyser = function("analyser", name or USUAL, own)
    return found


def decide(name: str, own: str, failed: Failed) -> Decision:
    """Ask an analyser; if it raises an error, use the usual one and say so."""
    try:
        with foreign("it failed"):
            action, why = analyser(name, own)(failed)
            decision = Decision(Action(action), " ".join(str(why).split()))
    except (JimError, OSError) as error:
        action, _ = usual(failed)
        return Decision(action, f"{name or USUAL} could not decide: {error}")
    return decision._replace(why=decision.why and f"{decision.why} ({name})") if name else decision

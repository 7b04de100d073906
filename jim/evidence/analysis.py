"""Decides what happens after a failed attempt: pure functions from the known facts to a decision.

A job type (`analyser` of its handler) or a site (`limits.analyser`) can name a function of its own, as
`package.module.function` in the directory `site.handlers`. The journal shows its decision and reason. The site limits
the number of attempts: `limits.attempts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from jim.attempts.rules import LONGEST_DELAY, MOST_TIMES
from jim.errors import JimError, shown
from jim.evidence.exit_record import FATAL, HOLD, RECOVERABLE, ExitRecord
from jim.model import NOTHING, Kind, Witness
from jim.trust.plugins import foreign, function, within

USUAL = "jim.evidence.analysis.usual"
LONGEST_SECONDS = 5.0  # that an analyser may take: the keeper does nothing else meanwhile
LONGEST_WHY = 1_000


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
    kind: Kind = Kind.UNKNOWN  # of the reason, with its facts
    facts: Mapping[str, Any] = field(default_factory=dict)
    lived: float | None = None  # seconds, if an exit record or a claim tells
    asked: Mapping[str, Any] = field(
        default_factory=dict
    )  # what the attempt was sent with: wall_seconds, memory_mb and so on
    counts: bool = True  # against the limit of attempts; false for one before whose host was to blame
    history: tuple[Failed, ...] = ()  # the attempts before, oldest first; these have no history


class Decision(NamedTuple):
    """The decision of an analyser, and its reason; and what is different for the next attempt."""

    action: Action
    why: str = ""
    change: Mapping[str, Any] = NOTHING  # attributes of the request: memory_mb, wall_seconds, arguments and so on
    delay: float | None = None  # seconds to wait before the next attempt; None: as usual
    times: int | None = None  # most further attempts of this kind; None: as limits.attempts says


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
    if failed.kind is Kind.OUTPUTS_LOST:  # the host had done its work
        return False
    if failed.record is None:
        return failed.witness is Witness.CLAIM or failed.kind is Kind.NODE
    return failed.record.code == 0 or failed.record.lacking


def analyser(name: str, own: str = "") -> Analyser:
    """Find an analyser by its dotted name; a site's own one is in its directory of handlers."""
    found: Analyser = function("analyser", name or USUAL, own)
    return found


def decide(name: str, own: str, failed: Failed, seconds: float = LONGEST_SECONDS) -> Decision:
    """Ask an analyser; if it raises an error, takes too long or makes no sense, use the usual one and say so."""
    try:
        asked = analyser(name, own)
        with foreign("it failed"), within(seconds):
            decision = _checked(Decision(*asked(failed)))  # a plain tuple does, too
    except (JimError, OSError) as error:
        return Decision(usual(failed).action, f"{name or USUAL} could not decide: {error}")
    return decision._replace(why=decision.why and f"{decision.why} ({name})") if name else decision


def _checked(found: Decision) -> Decision:
    """Refuse a decision that the keeper cannot follow, and write its reason in one line."""
    change, delay, times = found.change, found.delay, found.times
    if not (isinstance(change, Mapping) and all(isinstance(each, str) for each in change)):
        raise JimError(f"change: expected a table of attributes, found {shown(change)}")
    if delay is not None and not (type(delay) in (int, float) and 0 <= delay <= LONGEST_DELAY):
        raise JimError(f"delay: expected seconds from 0 to {LONGEST_DELAY:,.0f}, found {shown(delay)}")
    if times is not None and not (type(times) is int and 1 <= times <= MOST_TIMES):
        raise JimError(f"times: expected 1 to {MOST_TIMES}, found {shown(times)}")
    why = " ".join(str(found.why or "").split())
    return found._replace(action=Action(found.action), why=why[:LONGEST_WHY])

"""What becomes of a local job whose attempt has failed: pure functions from what is known of it to a decision.

A job type (`analyser` of its handler) or a site (`limits.analyser`) can name one of its own, `package.module.function`
in the directory `site.handlers`; what it decides stands in the journal with its reason. How often may be tried is the
site's: `limits.attempts`.
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
    """What to do next."""

    RETRY = "retry"
    ELSEWHERE = "retry elsewhere"  # not on that host, where the batch system can be told so
    HOLD = "hold"  # until a person retries, resumes or cancels it
    GIVE_UP = "give up"


@dataclass(frozen=True, slots=True)
class Failed:
    """What is known of an attempt that has failed."""

    reason: str  # in words, for people
    witness: Witness
    blameless: bool  # by all that JIM knows, the payload is not to blame: the next attempt may succeed
    record: ExitRecord | None  # none, where the wrapper left none
    host: str  # where it ran; empty: nowhere
    attempt: int
    spent: int  # attempts that count, this one included
    limit: int
    kind: Kind = Kind.UNKNOWN  # of the reason


class Decision(NamedTuple):
    """What an analyser decides, and why."""

    action: Action
    why: str = ""


Analyser = Callable[[Failed], Decision]


def usual(failed: Failed) -> Decision:
    """Decide by the recovery file, then by whose fault it was, then by where it was."""
    advice = failed.record.advice if failed.record else ""
    if advice == HOLD:
        return Decision(Action.HOLD)
    if advice in (FATAL, RECOVERABLE):
        return Decision(Action.RETRY if advice == RECOVERABLE else Action.GIVE_UP)
    if not failed.blameless:
        return Decision(Action.GIVE_UP)
    return Decision(Action.ELSEWHERE if failed.host and _is_the_hosts(failed) else Action.RETRY)


def _is_the_hosts(failed: Failed) -> bool:
    """Tell whether it looks as if the host had failed: it went away, lacks something, or its files are not as told."""
    if failed.record is None:
        return failed.witness is Witness.CLAIM or failed.kind is Kind.NODE
    return failed.record.code == 0 or failed.record.lacking


def analyser(name: str, own: str = "") -> Analyser:
    """Find an analyser by its dotted name; one that is the site's is in its directory of handlers."""
    found: Analyser = function("analyser", name or USUAL, own)
    return found


def decide(name: str, own: str, failed: Failed) -> Decision:
    """Ask an analyser; where it cannot answer, the usual one does, and says so."""
    try:
        with foreign("it failed"):
            action, why = analyser(name, own)(failed)
            decision = Decision(Action(action), " ".join(str(why).split()))
    except (JimError, OSError) as error:
        action, _ = usual(failed)
        return Decision(action, f"{name or USUAL} could not decide: {error}")
    return decision._replace(why=decision.why and f"{decision.why} ({name})") if name else decision

"""What an attempt's evidence means: pure functions from what is known to what becomes of the local job."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from jim.evidence.exit_record import ADVICE, FATAL, HOLD, RECOVERABLE, SUCCESS, ExitRecord
from jim.evidence.reasons import end_of, reason
from jim.model import NO_REASON, NOTHING, Kind, Observation, Reason, State, Witness


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an attempt ended. `again` says that another one may succeed; of one that failed, an analyser decides."""

    state: State  # completing: its outputs are to be verified first
    reason: Reason
    witness: Witness
    again: bool = False
    spent: bool = True  # counts against the limit of attempts
    recovery: tuple[str, ...] = ()
    at_once: bool = False  # another attempt need not wait: that was done before


# Kinds of ends that the next attempt would meet, too: it would take as long.
OF_TIME = (Kind.TIME_LIMIT, Kind.CPU_LIMIT)
# What a shell means by the code it ends with where it cannot start a program; a program may mean something else.
MEANT: dict[int | None, str] = {
    126: ", as of a program that may not be run",
    127: ", as of a program that is not found",
}
# An exit record whose outputs were found to be what it says.
VERIFIED = Verdict(State.COMPLETED, NO_REASON, Witness.EXIT_RECORD)


def of_exit_record(record: ExitRecord, *, cancelled: bool) -> Verdict:
    """Judge an attempt by its exit record. The payload's recovery file has the first word."""
    good = record.advice == SUCCESS or (record.code == 0 and not record.advice)
    if good and not record.refused:
        return Verdict(State.COMPLETING, NO_REASON, Witness.EXIT_RECORD)
    end = {"signal": record.signal} if record.signal is not None else {"code": record.code}
    if cancelled:
        return Verdict(State.KILLED, _cancelled(f"({end_of(end)})", end), Witness.EXIT_RECORD)
    return _of_refused(record, end) if good else _of_failure(record, end)


def _of_failure(record: ExitRecord, end: Mapping[str, Any]) -> Verdict:
    witness = Witness.EXIT_RECORD
    if record.advice == FATAL:
        more = f", and its recovery file says {record.recovery[:200]}"
        return Verdict(State.FAILED, reason(Kind.EXIT, end, more=more), witness)
    if record.advice in (RECOVERABLE, HOLD):
        more = ", recoverable" if record.advice == RECOVERABLE else ", and its recovery file asks for a person"
        arguments = _arguments(record.recovery)
        return Verdict(State.FAILED, reason(Kind.EXIT, end, more=more), witness, again=True, recovery=arguments)
    if record.reason:  # a warning: what came of it is no fault of the payload
        return Verdict(State.FAILED, _warned(record, end, end_of(end)), witness, again=True)
    if record.signal == signal.SIGKILL:
        # Neither JIM nor, as a rule, a payload sends it: it is the last word of a batch system or of the kernel.
        return Verdict(State.FAILED, reason(Kind.KILLED, end), witness, again=True)
    more = f"{MEANT.get(record.code, '')}{_not_understood(record.recovery)}"
    return Verdict(State.FAILED, reason(Kind.EXIT, end, more=more), witness)


def _of_refused(record: ExitRecord, end: Mapping[str, Any]) -> Verdict:
    """Judge a good end whose outputs were not taken. After a warning it may have been cut short, with exit 0."""
    more = f"; and {len(record.refused) - 3:,} more" if len(record.refused) > 3 else ""
    found = reason(Kind.NOT_TAKEN, what=f"{'; '.join(record.refused[:3])}{more}")
    if record.reason:
        return Verdict(State.FAILED, _warned(record, end, found.words), Witness.EXIT_RECORD, again=True)
    # What may be read, and cannot be, is a matter of the node or its disk; all else would only happen again.
    return Verdict(State.FAILED, found, Witness.EXIT_RECORD, again=record.failing)


def _warned(record: ExitRecord, end: Mapping[str, Any], how: str) -> Reason:
    return reason(Kind.LACKING if record.lacking else Kind.WARNED, end, told=record.reason, how=how)


def _cancelled(how: str, facts: Mapping[str, Any] = NOTHING) -> Reason:
    return reason(Kind.CANCELLED, facts, how=how)


def _not_understood(recovery: str) -> str:
    """Say that a recovery file has said nothing; by its first word, for equal reasons are told together."""
    if not recovery:
        return ""
    word = recovery.split(" ", 1)[0]
    return f"; its recovery file begins with {word[:40]!r}, which is none of {', '.join(ADVICE)}"


def within_time(found: Verdict, record: ExitRecord, wall_seconds: float) -> Verdict:
    """Let what was killed be tried again, unless it ran into its time limit: the next one would take as long."""
    if record.seconds < wall_seconds:
        return found
    facts = {**found.reason.facts, "seconds": round(record.seconds)}
    return replace(found, reason=reason(Kind.OVER_TIME, facts, before=found.reason), again=False)


def of_bad_outputs(problem: str) -> Verdict:
    """Judge an attempt whose outputs are not what its exit record says."""
    found = reason(Kind.OUTPUTS_DIFFER, what=problem)
    return Verdict(State.FAILED, found, Witness.EXIT_RECORD, again=True)


def of_lost(ended: Observation | None, stuck: str = "", *, cancelled: bool) -> Verdict:
    """Judge an attempt that was accepted, is fenced, and never started."""
    if cancelled:
        return Verdict(State.KILLED, _cancelled("before it started"), Witness.FENCE)
    told, facts = _told(ended)
    facts = {"cause": ended.kind, **facts} if ended and ended.kind else facts
    lost = reason(Kind.LOST, facts, told=told or stuck or "left the queue without starting")
    return Verdict(State.FAILED, lost, Witness.FENCE, again=True)


def of_never_sent(why: Reason, *, cancelled: bool) -> Verdict:
    """Judge an attempt whose submission never took place."""
    if cancelled:
        return _never_sent()
    return Verdict(State.FAILED, _by(Kind.NOT_ACCEPTED, why), Witness.FENCE, again=True, spent=False)


def of_too_many(why: Reason, *, cancelled: bool) -> Verdict:
    """Judge an attempt that was one of more than the batch system takes at once."""
    if cancelled:
        return _never_sent()
    found = _by(Kind.TOO_MANY, why)
    return Verdict(State.FAILED, found, Witness.FENCE, again=True, spent=False, at_once=True)


def of_refused(why: Reason, *, cancelled: bool) -> Verdict:
    """Judge an attempt whose submission the batch system plainly refused."""
    return _never_sent() if cancelled else Verdict(State.FAILED, _by(Kind.REFUSED, why), Witness.SUBMISSION)


def _never_sent() -> Verdict:
    return Verdict(State.KILLED, _cancelled("before it was sent"), Witness.FENCE)


def _by(kind: Kind, why: Reason) -> Reason:
    """Give the reason of an attempt by that of its submission, whose kind is the cause."""
    return reason(kind, {"cause": why.kind, **why.facts}, told=why)


def of_vanished(ended: Observation | None, *, back: bool = False, cancelled: bool) -> Verdict:
    """Judge an attempt that started, is dead, and left no exit record."""
    told, facts = _told(ended)
    witness = Witness.ACCOUNTING if told else Witness.CLAIM
    if cancelled:
        return Verdict(State.KILLED, _cancelled(f"({told or 'no exit record'})", facts), witness)
    if back:
        return Verdict(State.FAILED, reason(Kind.PUT_BACK), Witness.QUEUE, again=True)
    if ended is None or not told:
        return Verdict(State.FAILED, reason(Kind.VANISHED), witness, again=True)
    found = reason(ended.kind or Kind.ACCOUNTING, facts, told=told)
    return Verdict(State.FAILED, found, witness, again=found.kind not in OF_TIME)


def of_removed(attempt: int, *, cancelled: bool) -> Verdict:
    """Judge an attempt that started, and whose grid job's directory is not there any more."""
    found = reason(Kind.REMOVED, {"attempt": attempt})
    if cancelled:
        return Verdict(State.KILLED, _cancelled(f"({found})"), Witness.CLAIM)
    return Verdict(State.FAILED, found, Witness.CLAIM)


def before_its_time(found: Verdict, lived: float, wall_seconds: float) -> Verdict:
    """Let what is said to have run into its time limit, and cannot have lived that long, be tried again.

    A controller that missed a death takes the dead for running until their time is over. Not so of a limit on CPU time:
    several cores need less time for theirs.
    """
    over_time = found.state is State.FAILED and found.reason.kind is Kind.TIME_LIMIT
    if not over_time or lived >= wall_seconds:
        return found
    words = f"{found.reason}, though it was not alive for longer than {max(0.0, lived):,.0f} s"
    return replace(found, reason=found.reason.worded(words), again=True)


def _told(ended: Observation | None) -> tuple[str, dict[str, Any]]:
    """Put into words, and into facts, what accounting says, if it says anything."""
    if ended is None or not ended.state.final:
        return "", {}
    end = {"signal": ended.signal} if ended.signal else {"code": ended.code} if ended.code is not None else {}
    said = {"said": ended.reason} if ended.reason else {}
    return ", ".join(filter(None, (ended.reason, end_of(end)))) or ended.word, {**said, **end}


def _arguments(line: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(line)[1:])
    except ValueError:  # an open quote: take the words as they stand
        return tuple(line.split()[1:])

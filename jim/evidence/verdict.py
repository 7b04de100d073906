"""Decides how an attempt ended: pure functions from evidence to the future of the local job."""

from __future__ import annotations

import math
import shlex
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from jim.evidence.avoiding import LEFT_AT_ONCE, SPARED_AT_MOST
from jim.evidence.exit_record import ADVICE, FATAL, HOLD, RECOVERABLE, SUCCESS, ExitRecord
from jim.evidence.reasons import OF_WRAPPER, WRAPPER_TROUBLE, end_of, reason
from jim.model import NO_REASON, NOTHING, Kind, Observation, Reason, State, Witness


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an attempt ended. `again`: another attempt may succeed; for a failed one, an analyser decides."""

    state: State  # completing: JIM verifies the outputs first
    reason: Reason
    witness: Witness
    again: bool = False
    spent: bool = True  # counts against the limit of attempts
    recovery: tuple[str, ...] = ()
    at_once: bool = False  # the next attempt need not wait, because JIM has waited already


# Kinds of ends that the next attempt would meet again: it would take as long.
OF_TIME = (Kind.TIME_LIMIT, Kind.CPU_LIMIT)
NOT_FOUND = 127
MOST_LOST, SHARE_LOST = (
    10,
    100,
)  # lost outputs that are made again by themselves: no more, and no more than 1 in so many
# Exit codes with which a shell says that it cannot start a program; a program may use them otherwise.
MEANT: dict[int | None, str] = {
    126: ", as of a program that may not be run",
    NOT_FOUND: ", as of a program that is not found",
}
# An exit record whose outputs were verified.
VERIFIED = Verdict(State.COMPLETED, NO_REASON, Witness.EXIT_RECORD)


def of_exit_record(record: ExitRecord, *, cancelled: bool, program: str = "") -> Verdict:
    """Judge an attempt by its exit record. The payload's recovery file comes first."""
    good = record.advice == SUCCESS or (record.code == 0 and not record.advice)
    if good and not record.refused:
        return Verdict(State.COMPLETING, NO_REASON, Witness.EXIT_RECORD)
    end = {"signal": record.signal} if record.signal is not None else {"code": record.code}
    if cancelled:
        return Verdict(State.KILLED, _cancelled(f"({end_of(end)})", end), Witness.EXIT_RECORD)
    return _of_refused(record, end) if good else _of_failure(record, end, program)


def _of_failure(record: ExitRecord, end: Mapping[str, Any], program: str) -> Verdict:
    witness = Witness.EXIT_RECORD
    if record.advice == FATAL:
        more = f", and its recovery file says {record.recovery[:200]}"
        return Verdict(State.FAILED, reason(Kind.EXIT, end, more=more), witness)
    if record.advice in (RECOVERABLE, HOLD):
        more = ", recoverable" if record.advice == RECOVERABLE else ", and its recovery file asks for a person"
        more += f" ({record.reason})" if record.warned_in_time else ""
        arguments = _arguments(record.recovery)
        return Verdict(State.FAILED, reason(Kind.EXIT, end, more=more), witness, again=True, recovery=arguments)
    if record.warned_in_time and record.kills == 0:
        return Verdict(State.FAILED, _in_time(record, end, end_of(end)), witness)
    if record.reason:  # a warning: the payload is not to blame for the result
        return Verdict(State.FAILED, _warned(record, end, end_of(end)), witness, again=True)
    if record.kills:
        words = f"out of memory: the kernel has ended {record.kills:,} of its processes ({end_of(end)})"
        return Verdict(State.FAILED, reason(Kind.MEMORY, end, told=words), witness, again=True)
    if record.signal == signal.SIGKILL:
        # Neither JIM nor usually a payload sends this signal: it is the last step of a batch system or of the kernel.
        return Verdict(State.FAILED, reason(Kind.KILLED, end), witness, again=True)
    named = f": {program}" if program and record.code in MEANT else ""
    if named and record.code == NOT_FOUND:  # the program may be there, and what its #! names or what it calls may not
        named += ", the interpreter in its first line" * ("/" in program) + ", or one that it calls"
    more = f"{MEANT.get(record.code, '')}{named}{_not_understood(record.recovery)}"
    return Verdict(State.FAILED, reason(Kind.EXIT, end, more=more), witness)


def _of_refused(record: ExitRecord, end: Mapping[str, Any]) -> Verdict:
    """Judge a good end whose outputs were not taken. After a warning the payload may have stopped early with exit 0."""
    more = f"; and {len(record.refused) - 3:,} more" if len(record.refused) > 3 else ""
    found = reason(Kind.NOT_TAKEN, what=f"{'; '.join(record.refused[:3])}{more}")
    if record.warned_in_time:
        return Verdict(State.FAILED, _in_time(record, end, found.words), Witness.EXIT_RECORD)
    if record.reason:
        return Verdict(State.FAILED, _warned(record, end, found.words), Witness.EXIT_RECORD, again=True)
    # A file that exists but cannot be read is a problem of the node or its disk; other causes would only repeat.
    return Verdict(State.FAILED, found, Witness.EXIT_RECORD, again=record.failing)


def _warned(record: ExitRecord, end: Mapping[str, Any], how: str) -> Reason:
    return reason(Kind.LACKING if record.lacking else Kind.WARNED, end, told=record.reason, how=how)


def _in_time(record: ExitRecord, end: Mapping[str, Any], how: str) -> Reason:
    """Return the reason of an end by a warning of the time limit; without a recovery file, the next would meet it."""
    before = f"it was {record.reason} ({how})"
    return reason(Kind.OVER_TIME, {**end, "seconds": round(record.seconds)}, before=before)


def _cancelled(how: str, facts: Mapping[str, Any] = NOTHING) -> Reason:
    return reason(Kind.CANCELLED, facts, how=how)


def _not_understood(recovery: str) -> str:
    """Report a recovery file that JIM does not understand, by its first word: so equal reasons can be counted."""
    if not recovery:
        return ""
    word = recovery.split(" ", 1)[0]
    return f"; its recovery file begins with {word[:40]!r}, not with one of {', '.join(ADVICE)}"


def within_time(found: Verdict, record: ExitRecord, wall_seconds: float) -> Verdict:
    """Allow another attempt after a kill, unless the time limit was the cause: the next one would take as long."""
    if record.seconds < wall_seconds:
        return found
    facts = {**found.reason.facts, "seconds": round(record.seconds)}
    return replace(found, reason=reason(Kind.OVER_TIME, facts, before=found.reason), again=False)


def of_bad_outputs(problem: str) -> Verdict:
    """Judge an attempt whose outputs differ from its exit record."""
    found = reason(Kind.OUTPUTS_DIFFER, what=problem)
    return Verdict(State.FAILED, found, Witness.EXIT_RECORD, again=True)


def most_lost(completed: int) -> int:
    """Return of how many completed local jobs JIM makes lost outputs again by itself. Of less than 200, one is few.

    A work directory that came back empty, or that is another one, must not make JIM do everything again.
    """
    return min(MOST_LOST, max(1, completed // SHARE_LOST))


def few_lost(lost: int, completed: int) -> bool:
    """Tell whether JIM makes so many lost outputs again by itself."""
    return lost <= most_lost(completed)


def of_lost_outputs(problem: str) -> Verdict:
    """Judge an attempt that completed, and whose outputs were lost or changed after they were verified."""
    return Verdict(State.FAILED, reason(Kind.OUTPUTS_LOST, what=problem), Witness.EXIT_RECORD, again=True)


def of_lost(ended: Observation | None, stuck: str = "", *, cancelled: bool) -> Verdict:
    """Judge an attempt that was accepted, is fenced, and never started."""
    if cancelled:
        return Verdict(State.KILLED, _cancelled("before it started"), Witness.FENCE)
    words, facts = _told(ended)
    facts = {"cause": ended.kind, **facts} if ended and ended.kind else facts
    lost = reason(Kind.LOST, facts, told=words or stuck or "left the queue without starting")
    return Verdict(State.FAILED, lost, Witness.FENCE, again=True)


def of_left(host: str, *, before: int, cancelled: bool) -> Verdict:
    """Judge an attempt that is fenced, and whose wrapper has left a host that JIM avoids; it has waited there.

    `before` earlier attempts do not count. If the batch system goes on choosing that host, the next one waits longer.
    """
    if cancelled:
        return of_lost(None, cancelled=True)
    found = reason(Kind.AVOIDED, {"host": host})
    spent, at_once = before >= SPARED_AT_MOST, before < LEFT_AT_ONCE
    return Verdict(State.FAILED, found, Witness.FENCE, again=True, spent=spent, at_once=at_once)


def of_left_over(*, before: int, cancelled: bool) -> Verdict:
    """Judge an attempt that is fenced, and that no carrier of its submission had time to begin.

    `before` earlier attempts do not count.
    """
    if cancelled:
        return of_lost(None, cancelled=True)
    return Verdict(
        State.FAILED, reason(Kind.NOT_BEGUN), Witness.FENCE, again=True, spent=before >= SPARED_AT_MOST, at_once=True
    )


def of_waiting_in_vain(told: str, *, cancelled: bool) -> Verdict:
    """Judge an attempt that is fenced, and that the batch system would never have started."""
    if cancelled:
        return of_lost(None, cancelled=True)
    return Verdict(State.FAILED, reason(Kind.NEVER_STARTS, told=told), Witness.FENCE, spent=False)


def of_never_sent(why: Reason, *, cancelled: bool) -> Verdict:
    """Judge an attempt whose submission never happened."""
    if cancelled:
        return _never_sent()
    return Verdict(State.FAILED, _by(Kind.NOT_ACCEPTED, why), Witness.FENCE, again=True, spent=False)


def of_too_many(why: Reason, *, cancelled: bool) -> Verdict:
    """Judge an attempt that exceeded the number of jobs that the batch system takes."""
    if cancelled:
        return _never_sent()
    return Verdict(State.FAILED, _by(Kind.TOO_MANY, why), Witness.FENCE, again=True, spent=False, at_once=True)


def of_refused(why: Reason, *, cancelled: bool) -> Verdict:
    """Judge an attempt whose submission the batch system refused."""
    return _never_sent() if cancelled else Verdict(State.FAILED, _by(Kind.REFUSED, why), Witness.SUBMISSION)


def _never_sent() -> Verdict:
    return Verdict(State.KILLED, _cancelled("before it was sent"), Witness.FENCE)


def _by(kind: Kind, why: Reason) -> Reason:
    """Return the reason of an attempt from that of its submission, whose kind becomes the cause."""
    return reason(kind, {"cause": why.kind, **why.facts}, told=why)


def of_vanished(ended: Observation | None, *, back: bool = False, cancelled: bool) -> Verdict:
    """Judge an attempt that started, is dead, and left no exit record."""
    words, facts = _told(ended)
    witness = Witness.ACCOUNTING if words else Witness.CLAIM
    if cancelled:
        return Verdict(State.KILLED, _cancelled(f"({words or 'no exit record'})", facts), witness)
    if back:
        return Verdict(State.FAILED, reason(Kind.PUT_BACK), Witness.QUEUE, again=True)
    if ended is None or not words:
        return Verdict(State.FAILED, reason(Kind.VANISHED), witness, again=True)
    found = reason(ended.kind or Kind.ACCOUNTING, facts, told=words)
    return Verdict(State.FAILED, found, witness, again=found.kind not in OF_TIME)


def of_removed(attempt: int, *, cancelled: bool) -> Verdict:
    """Judge an attempt that started, and whose grid job's directory is gone."""
    found = reason(Kind.REMOVED, {"attempt": attempt})
    if cancelled:
        return Verdict(State.KILLED, _cancelled(f"({found})"), Witness.CLAIM)
    return Verdict(State.FAILED, found, Witness.CLAIM)


def before_its_time(found: Verdict, lived: float, wall_seconds: float) -> Verdict:
    """Allow another attempt if accounting reports a time limit that the attempt cannot have reached.

    A controller that missed a death counts the job as running until its time is over. This does not hold for a limit on
    CPU time: several cores reach it sooner. If JIM sent no time limit, it cannot tell.
    """
    over_time = found.state is State.FAILED and found.reason.kind is Kind.TIME_LIMIT
    if not over_time or lived >= wall_seconds:
        return found
    doubt = f"but it did not live longer than {max(0.0, lived):,.0f} s"
    if math.isinf(wall_seconds):
        doubt = "but JIM does not know the limit"
    words = f"{found.reason}, {doubt}"
    return replace(found, reason=found.reason.worded(words), again=True)


def recovered(found: Verdict, recovery: str) -> Verdict:
    """Allow another attempt after a time limit that the payload was ready for, with the arguments that it has left."""
    advice = recovery.split(" ", 1)[0]
    if found.state is not State.FAILED or advice != RECOVERABLE or not (found.again or found.reason.kind in OF_TIME):
        return found
    words = found.reason.worded(f"{found.reason}, recoverable")
    return replace(found, reason=words, again=True, recovery=_arguments(recovery))


def _told(ended: Observation | None) -> tuple[str, dict[str, Any]]:
    """Return the words and facts of accounting's answer, if there is one."""
    if ended is None or not ended.state.final:
        return "", {}
    end = {"signal": ended.signal} if ended.signal else {"code": ended.code} if ended.code is not None else {}
    said = {"said": ended.reason} if ended.reason else {}
    own = f": {OF_WRAPPER}" if end == {"code": WRAPPER_TROUBLE} else ""
    return ", ".join(filter(None, (ended.reason, end_of(end)))) + own or ended.word, {**said, **end}


def _arguments(line: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(line)[1:])
    except ValueError:  # an open quote: take the words as they are
        return tuple(line.split()[1:])

"""What an attempt's evidence means: pure functions from what is known to what becomes of the local job."""

from __future__ import annotations

import re
import shlex
import signal
from dataclasses import dataclass, replace

from jim.evidence.exit_record import ADVICE, FATAL, HOLD, RECOVERABLE, SUCCESS, ExitRecord
from jim.model import Observation, State, Witness


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an attempt ended. `again` says that another one may succeed; of one that failed, an analyser decides."""

    state: State  # completing: its outputs are to be verified first
    reason: str
    witness: Witness
    again: bool = False
    spent: bool = True  # counts against the limit of attempts
    recovery: tuple[str, ...] = ()
    at_once: bool = False  # another attempt need not wait: that was done before


# What accounting says of a job that ran into its time limit.
OVER_TIME = re.compile("time limit|wall time", re.IGNORECASE)
# What a shell means by the code it ends with where it cannot start a program; a program may mean something else.
MEANT: dict[int | None, str] = {
    126: ", as of a program that may not be run",
    127: ", as of a program that is not found",
}
# An exit record whose outputs were found to be what it says.
VERIFIED = Verdict(State.COMPLETED, "", Witness.EXIT_RECORD)


def of_exit_record(record: ExitRecord, *, cancelled: bool) -> Verdict:
    """Judge an attempt by its exit record. The payload's recovery file has the first word."""
    good = record.advice == SUCCESS or (record.code == 0 and not record.advice)
    if good and not record.refused:
        return Verdict(State.COMPLETING, "", Witness.EXIT_RECORD)
    end = f"signal {record.signal}" if record.signal is not None else f"exit {record.code}"
    if cancelled:
        return Verdict(State.KILLED, f"cancelled ({end})", Witness.EXIT_RECORD)
    return _of_refused(record) if good else _of_failure(record, end)


def _of_failure(record: ExitRecord, end: str) -> Verdict:
    witness = Witness.EXIT_RECORD
    if record.advice == FATAL:
        return Verdict(State.FAILED, f"{end}, and its recovery file says {record.recovery[:200]}", witness)
    if record.advice in (RECOVERABLE, HOLD):
        arguments = _arguments(record.recovery)
        what = "recoverable" if record.advice == RECOVERABLE else "and its recovery file asks for a person"
        return Verdict(State.FAILED, f"{end}, {what}", witness, again=True, recovery=arguments)
    if record.reason:  # a warning: what came of it is no fault of the payload
        return Verdict(State.FAILED, f"{record.reason} ({end})", witness, again=True)
    if record.signal == signal.SIGKILL:
        # Neither JIM nor, as a rule, a payload sends it: it is the last word of a batch system or of the kernel.
        return Verdict(State.FAILED, f"killed by {end}: by the site or for want of memory", witness, again=True)
    return Verdict(State.FAILED, f"{end}{MEANT.get(record.code, '')}{_not_understood(record.recovery)}", witness)


def _of_refused(record: ExitRecord) -> Verdict:
    """Judge a good end whose outputs were not taken. After a warning it may have been cut short, with exit 0."""
    more = f"; and {len(record.refused) - 3:,} more" if len(record.refused) > 3 else ""
    reason = f"output not taken: {'; '.join(record.refused[:3])}{more}"
    if record.reason:
        return Verdict(State.FAILED, f"{record.reason} ({reason})", Witness.EXIT_RECORD, again=True)
    # What may be read, and cannot be, is a matter of the node or its disk; all else would only happen again.
    again = any(each.startswith("failing ") for each in record.refused)
    return Verdict(State.FAILED, reason, Witness.EXIT_RECORD, again=again)


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
    return replace(found, reason=f"time limit: it ran for {record.seconds:,.0f} s; {found.reason}", again=False)


def of_bad_outputs(problem: str) -> Verdict:
    """Judge an attempt whose outputs are not what its exit record says."""
    return Verdict(State.FAILED, f"outputs do not match the exit record: {problem}", Witness.EXIT_RECORD, again=True)


def of_lost(ended: Observation | None, stuck: str = "", *, cancelled: bool) -> Verdict:
    """Judge an attempt that was accepted, is fenced, and never started."""
    reason = _told(ended) or stuck or "left the queue without starting"
    if cancelled:
        return Verdict(State.KILLED, "cancelled before it started", Witness.FENCE)
    return Verdict(State.FAILED, f"lost: {reason}", Witness.FENCE, again=True)


def of_never_sent(reason: str, *, cancelled: bool) -> Verdict:
    """Judge an attempt whose submission never took place."""
    if cancelled:
        return Verdict(State.KILLED, "cancelled before it was sent", Witness.FENCE)
    return Verdict(State.FAILED, f"not accepted: {reason}", Witness.FENCE, again=True, spent=False)


def of_too_many(reason: str, *, cancelled: bool) -> Verdict:
    """Judge an attempt that was one of more than the batch system takes at once."""
    if cancelled:
        return Verdict(State.KILLED, "cancelled before it was sent", Witness.FENCE)
    reason = f"too many at once: {reason}"
    return Verdict(State.FAILED, reason, Witness.FENCE, again=True, spent=False, at_once=True)


def of_refused(reason: str, *, cancelled: bool) -> Verdict:
    """Judge an attempt whose submission the batch system plainly refused."""
    if cancelled:
        return Verdict(State.KILLED, "cancelled before it was sent", Witness.FENCE)
    return Verdict(State.FAILED, f"refused by the batch system: {reason}", Witness.SUBMISSION)


def of_vanished(ended: Observation | None, *, back: bool = False, cancelled: bool) -> Verdict:
    """Judge an attempt that started, is dead, and left no exit record."""
    told = _told(ended)
    witness = Witness.ACCOUNTING if told else Witness.CLAIM
    if cancelled:
        return Verdict(State.KILLED, f"cancelled ({told or 'no exit record'})", witness)
    if back:
        reason = "put back into the queue by the batch system after it had started; it left no exit record"
        return Verdict(State.FAILED, reason, Witness.QUEUE, again=True)
    again = not OVER_TIME.search(told)  # the next one would take as long
    reason = told or "vanished: it started, ended, and left no exit record"
    return Verdict(State.FAILED, reason, witness, again=again)


def of_removed(attempt: int, *, cancelled: bool) -> Verdict:
    """Judge an attempt that started, and whose grid job's directory is not there any more."""
    reason = f"its directory was removed while attempt {attempt} ran"
    if cancelled:
        return Verdict(State.KILLED, f"cancelled ({reason})", Witness.CLAIM)
    return Verdict(State.FAILED, reason, Witness.CLAIM)


def before_its_time(found: Verdict, lived: float, wall_seconds: float) -> Verdict:
    """Let what is said to have run into its time limit, and cannot have lived that long, be tried again.

    A controller that missed a death takes the dead for running until their time is over.
    """
    over_time = found.state is State.FAILED and not found.again
    if not over_time or "CPU" in found.reason or lived >= wall_seconds:  # several cores need less time for theirs
        return found
    reason = f"{found.reason}, though it was not alive for longer than {max(0.0, lived):,.0f} s"
    return replace(found, reason=reason, again=True)


def _told(ended: Observation | None) -> str:
    """Put into words what accounting says, if it says anything."""
    if ended is None or not ended.state.final:
        return ""
    end = f"signal {ended.signal}" if ended.signal else f"exit {ended.code}" if ended.code is not None else ""
    return ", ".join(filter(None, (ended.reason, end))) or ended.word


def _arguments(line: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(line)[1:])
    except ValueError:  # an open quote: take the words as they stand
        return tuple(line.split()[1:])

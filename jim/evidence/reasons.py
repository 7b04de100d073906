"""The words of verdicts: the only place in this room that has sentences. No code reads them back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jim.model import NOTHING, Kind, Reason

TOLD = "{told}"
# A payload's own exit code is in an exit record; accounting tells of the wrapper's.
WRAPPER_TROUBLE, OF_WRAPPER = 72, "trouble of the wrapper itself, such as a full disk"
OF_ACCOUNTING = Kind.ACCOUNTING, Kind.TIME_LIMIT, Kind.CPU_LIMIT, Kind.TIME_OR_MEMORY, Kind.MEMORY, Kind.NODE
# A name in braces is a fact, or a part of the sentence only; `end` is made from the facts.
WORDS: Mapping[Kind, str] = {
    Kind.EXIT: "{end}{more}",
    Kind.INPUT_GONE: "{what} ({end})",
    Kind.KILLED: "killed by {end}: by the site or for want of memory",
    Kind.WARNED: "{told} ({how})",
    Kind.LACKING: "{told} ({how})",
    Kind.OVER_TIME: "time limit: it ran for {seconds:,} s; {before}",
    Kind.NOT_TAKEN: "output not taken: {what}",
    Kind.OUTPUTS_DIFFER: "outputs do not match the exit record: {what}",
    Kind.OUTPUTS_LOST: "outputs were lost or changed after they were verified: {what}",
    **dict.fromkeys(OF_ACCOUNTING, TOLD),
    Kind.LOST: "lost: {told}",
    Kind.VANISHED: "vanished: it started, ended, and left no exit record",
    Kind.AVOIDED: "left {host}, a host that JIM avoids, without having started",
    Kind.NOT_BEGUN: "not begun: the batch jobs of its bundle ended before it had its turn",
    Kind.PUT_BACK: "put back into the queue by the batch system after it had started; it left no exit record",
    Kind.REMOVED: "its directory was removed while attempt {attempt} ran",
    Kind.CANCELLED: "cancelled {how}",
    Kind.NOT_ACCEPTED: "not accepted: {told}",
    Kind.TOO_MANY: "too many at once: {told}",
    Kind.REFUSED: "refused by the batch system: {told}",
    Kind.NEVER_STARTS: "can never start as it was asked for: {told}",
    Kind.ODD_WORD: "the batch system says {told!r}, which its adapter does not know",
    Kind.NOTED: TOLD,
}


def reason(kind: Kind, facts: Mapping[str, Any] = NOTHING, **more: object) -> Reason:
    """Return a reason with its words; `more` goes into the words but is not a fact."""
    return Reason(kind, facts, WORDS[kind].format(end=end_of(facts), **facts, **more))


def end_of(facts: Mapping[str, Any]) -> str:
    """Return how something ended, in words; empty if that is unknown."""
    if "signal" in facts:
        return f"signal {facts['signal']}"
    return f"exit {facts['code']}" if "code" in facts else ""

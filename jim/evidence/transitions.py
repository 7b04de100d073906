"""Decides what a wish does to a grid job and its local jobs; all decisions are pure.

The people's verbs and the keeper ask the same decisions: a verb, to refuse a useless wish at once; the keeper, when it
applies the wish. A decision returns why not; an empty text means that the wish is possible.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from jim.errors import JimError
from jim.jobs import GridJob, LocalJob
from jim.model import State, Step, Verb

ENDED = frozenset({State.COMPLETED, State.FAILED, State.KILLED})
ENDED_BADLY = (State.FAILED, State.KILLED, State.NEW)
# A local job that has not ended must be cancelled first.
FORCED_FROM = {
    State.COMPLETED: frozenset({State.FAILED}),
    State.FAILED: frozenset({State.COMPLETED, State.KILLED}),
}
FREEZES_AS = {
    State.COMPLETED: State.COMPLETED_FROZEN,
    State.FAILED: State.FAILED_FROZEN,
    State.KILLED: State.FAILED_FROZEN,
}
FAMILY_VERBS = (Verb.RETRY, Verb.REDO, Verb.FORCE, Verb.RESPLIT, Verb.EDIT)


class NotPossible(JimError):
    """A wish is not possible for a grid job or local job in its present state."""


def too_late(job: GridJob, verb: str) -> str:
    """Return why a wish for a whole grid job would have no effect. Nothing reverses a cancel."""
    if job.step is Step.FINISHED:
        return f"the grid job has already finished as {job.outcome}"
    if job.wish == Verb.CANCEL != verb:
        return "a cancel of it is in progress"
    # A cancel ends a collection that is no longer needed.
    return "its outputs are being collected" if job.step is Step.COLLECTING and verb != Verb.CANCEL else ""


def too_late_to_end(states: AbstractSet[State]) -> str:
    """Return why a cancel of local jobs in these states would have no effect: all have ended."""
    ended = bool(states) and all(state.final for state in states)
    return f"already {', '.join(sorted(state.value for state in states))}" if ended else ""


def too_early_to_retry(job: GridJob) -> str:
    """Return why a retry would have no effect now. A retry during the collection waits for its end."""
    cancelled = job.wish == Verb.CANCEL and job.step not in (Step.COLLECTING, Step.FINISHED)
    return "a cancel of it is in progress; retry it when it has finished" if cancelled else ""


def not_done_again(job: GridJob, *, at_gatekeeper: bool, again: bool) -> str:
    """Return why nothing of a grid job that has completed is done again."""
    if at_gatekeeper and job.step is Step.FINISHED and not again:
        words = "its gatekeeper has the last answer, and takes no other outputs"
        return f"{words}; with --again, only the tar here is made anew"
    return too_early_to_retry(job)


def too_early_to_remove(job: GridJob) -> str:
    """Return why a grid job cannot be removed: JIM removes nothing unfinished."""
    return "" if job.step is Step.FINISHED else f"it has not finished; `jim cancel {job.id}` ends it"


def not_forced(states: AbstractSet[State], to: State) -> str:
    """Return why local jobs in these states cannot be forced to completed or failed."""
    alive = sorted(state.value for state in states if not state.final)
    other = sorted(state.value for state in states - FORCED_FROM[to] - {to})
    return f"still {', '.join(alive)}; cancel them first" if alive else ", ".join(other)


def not_split_again(local: LocalJob) -> str:
    """Return why a local job cannot be split into smaller ones."""
    if local.state not in ENDED:
        return f"is {local.state.value}: only a completed, failed or killed local job can be split again"
    return "" if local.piece.files else "has no input files that a splitter could split again"


def has_words(words: str, reason: str) -> bool:
    """Tell whether a reason has these words. A number is no part of a longer one: `exit 1` is not `exit 137`."""
    return bool(re.search(rf"(?!(?<=\d)\d){re.escape(words)}(?!(?<=\d)\d)", reason, re.IGNORECASE))


def again_of(
    ended: Sequence[LocalJob],
    slices: Sequence[tuple[int, int]],
    *,
    failed: bool = False,
    reason: str = "",
    most: int | None = None,
) -> list[LocalJob]:
    """Return the local jobs that a retry tries again.

    These are the named ones. For a whole grid job: those that failed or are held or, if there are none, the killed
    ones. A local job that failed on its creation can never run. `failed` leaves out killed ones, `reason` selects by
    words in the reason, and `most` limits the number. A number does not match part of a longer one: `exit 1` is not
    `exit 137`.
    """
    able = [each for each in ended if each.held or (each.state in ENDED_BADLY and not each.piece.failure)]
    if reason:
        able = [each for each in able if has_words(reason, each.reason)]
    not_killed = [each for each in able if each.state is not State.KILLED]
    return (not_killed if failed or (not_killed and not slices) else able)[:most]

"""What becomes of a grid job and its local jobs when someone asks for something, as pure decisions.

The people's verbs and the keeper's wishes ask the same decisions: a verb, to tell at once what would change nothing; a
wish, to change nothing by the time that it is taken up. A decision says why not; an empty text means that it may be.
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
# What has not ended is to be cancelled first.
FORCED_FROM = {
    State.COMPLETED: frozenset({State.FAILED}),
    State.FAILED: frozenset({State.COMPLETED, State.KILLED}),
}
FREEZES_AS = {
    State.COMPLETED: State.COMPLETED_FROZEN,
    State.FAILED: State.FAILED_FROZEN,
    State.KILLED: State.FAILED_FROZEN,
}
FAMILY_VERBS = (Verb.RETRY, Verb.FORCE, Verb.RESPLIT, Verb.EDIT)


class NotPossible(JimError):
    """What was asked for cannot be done to a grid job or local job as it is now."""


def too_late(job: GridJob, verb: str) -> str:
    """Say why a wish for a whole grid job would change nothing. Nothing undoes a cancel."""
    if job.step is Step.FINISHED:
        return f"finished as {job.outcome} already"
    if job.wish == Verb.CANCEL != verb:
        return "a cancel of it is under way"
    # A cancel ends what is gathered in vain.
    return "its outputs are being gathered already" if job.step is Step.COLLECTING and verb != Verb.CANCEL else ""


def too_late_to_end(states: AbstractSet[State]) -> str:
    """Say why a cancel of local jobs in these states would change nothing: all of them have ended."""
    ended = bool(states) and all(state.final for state in states)
    return f"{', '.join(sorted(state.value for state in states))} already" if ended else ""


def too_early_to_retry(job: GridJob) -> str:
    """Say why a retry would change nothing now. One that comes while outputs are gathered waits until that is done."""
    cancelled = job.wish == Verb.CANCEL and job.step not in (Step.COLLECTING, Step.FINISHED)
    return "a cancel of it is under way; retry it when it is finished" if cancelled else ""


def not_forced(states: AbstractSet[State], to: State) -> str:
    """Say why local jobs in these states cannot be forced to be completed, or failed."""
    alive = sorted(state.value for state in states if not state.final)
    other = sorted(state.value for state in states - FORCED_FROM[to] - {to})
    return f"still {', '.join(alive)}, to be cancelled first" if alive else ", ".join(other)


def not_split_again(local: LocalJob) -> str:
    """Say why the work of a local job cannot be given to smaller ones."""
    if local.state not in ENDED:
        return f"is {local.state.value}: only what has completed, failed or been killed is split again"
    return "" if local.piece.files else "has no input files that could be split again"


def again_of(
    ended: Sequence[LocalJob],
    slices: Sequence[tuple[int, int]],
    *,
    failed: bool = False,
    reason: str = "",
    most: int | None = None,
) -> list[LocalJob]:
    """Say which of the local jobs that ended badly are tried again.

    Those that are named; of a whole grid job only what failed or is held, or where nothing did, what was killed. What
    has failed on its creation can never run. Of these only what `failed` and was not killed, for a reason in which
    these words are, and at most so many. A number is no part of a longer one: `exit 1` is not `exit 137`.
    """
    able = [each for each in ended if each.held or (each.state in ENDED_BADLY and not each.piece.failure)]
    if reason:
        words = re.compile(rf"(?!(?<=\d)\d){re.escape(reason)}(?!(?<=\d)\d)", re.IGNORECASE)
        able = [each for each in able if words.search(each.reason)]
    not_killed = [each for each in able if each.state is not State.KILLED]
    return (not_killed if failed or (not_killed and not slices) else able)[:most]

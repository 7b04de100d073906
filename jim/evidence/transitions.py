"""What becomes of a grid job and its local jobs when someone asks for something: Ganga's rules, as pure decisions.

A decision takes a family as it is and gives it as it shall be, or says with `NotPossible` why it stays. Where a local
job is to be sent (again) it is *waiting*, which people see as submitted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jim.errors import JimError, UnknownJob
from jim.jobs import GridJob, LocalJob
from jim.model import FROZEN, State, Step, Verb, roll_up

# What people may see a status become. JIM itself stores no `incomplete`, `template`, `removed` or `unknown`.
_GRAPH = {
    "new": "submitting removed",
    "submitting": "new submitted failed unknown",
    "submitted": "running completing completed failed killed submitting unknown",
    "running": "completing completed failed killed submitting submitted unknown",
    "completing": "completed failed submitting submitted unknown",
    "completed": "submitting submitted failed removed completed_frozen",
    "failed": "submitting submitted completed removed failed_frozen",
    "killed": "submitting submitted failed removed failed_frozen",
    "completed_frozen": "completed",
    "failed_frozen": "failed",
    "unknown": "removed",
    "incomplete": "removed",
    "template": "removed",
    "removed": "",
}
MAY_BECOME = {before: frozenset(after.split()) | {before} for before, after in _GRAPH.items()}

ENDED = frozenset({State.COMPLETED, State.FAILED, State.KILLED})
ONLY_ENDED = "only what has completed, failed or been killed is split again"
# What is waiting or being submitted counts too: its claim can be fenced.
ALIVE = frozenset(
    {State.WAITING, State.SUBMITTING, State.SUBMITTED, State.HELD, State.RUNNING, State.SUSPENDED},
)
FORCED_FROM = {
    State.COMPLETED: frozenset({State.COMPLETING, State.FAILED}),
    State.FAILED: ALIVE | {State.COMPLETING, State.COMPLETED, State.KILLED},
}
FREEZES_AS = {
    State.COMPLETED: State.COMPLETED_FROZEN,
    State.FAILED: State.FAILED_FROZEN,
    State.KILLED: State.FAILED_FROZEN,
}


class NotPossible(JimError):
    """What was asked for cannot be done to a grid job or local job as it is now."""


@dataclass(frozen=True, slots=True)
class Family:
    """The status of a grid job, and the states of its local jobs."""

    grid_job: State
    local_jobs: tuple[State, ...] = ()

    def local_job(self, n: int) -> State:
        """Give the state of one local job."""
        if not 0 <= n < len(self.local_jobs):
            raise UnknownJob(f"there is no local job {n}: there are {len(self.local_jobs)}")
        return self.local_jobs[n]

    def with_local_job(self, n: int, state: State) -> tuple[State, ...]:
        """Give the states of all local jobs, with one of them changed."""
        return (*self.local_jobs[:n], state, *self.local_jobs[n + 1 :])


def may_become(before: str, after: str) -> bool:
    """Say whether people may see one status after another; any may stay what it is."""
    return after in MAY_BECOME[before]


def submission(refused: Sequence[bool], *, keep_going: bool, at_once: bool = False) -> tuple[Family, bool]:
    """Say what submitting has made of a new family, and whether that is an error.

    `refused[n]`: the batch system does not take local job n. `keep_going` tries all of them, and then nothing is an
    error; else the first one refused is, and ends it. What is not submitted stays new, or has failed where one command
    submits all `at_once`. Where all stay new, the grid job is as before: new and not split.
    """
    stop = len(refused) if keep_going or True not in refused else refused.index(True)
    unsent = State.FAILED if at_once else State.NEW
    local_jobs = tuple(unsent if no or n >= stop else State.SUBMITTED for n, no in enumerate(refused))
    status = roll_up(Counter(local_jobs))
    return Family(status, () if status is State.NEW else local_jobs), stop < len(refused) or not refused


def resubmit(family: Family, n: int | None = None, *, only_failed: bool = True) -> Family:
    """Send what failed again, or one local job that has ended; without `only_failed`, all that have ended."""
    if n is not None:
        _require("resubmitted", f"local job {n}", family.local_job(n), ENDED)
        return Family(State.SUBMITTED, family.with_local_job(n, State.WAITING))
    if family.grid_job is State.NEW:
        raise NotPossible("the grid job is new: it cannot be resubmitted; submit it")
    _require("resubmitted", "the grid job", family.grid_job, ENDED)
    again = {State.FAILED} if only_failed else ENDED
    if not again.intersection(family.local_jobs):
        return family
    return Family(State.SUBMITTED, tuple(State.WAITING if each in again else each for each in family.local_jobs))


def kill(family: Family, n: int | None = None) -> Family:
    """End what has not ended. A family that is killed is killed, or failed where one of it had failed before."""
    state = family.grid_job if n is None else family.local_job(n)
    if state in ENDED | FROZEN:
        return family
    if n is not None:
        _require("killed", f"local job {n}", state, ALIVE)
        return _derived(family.with_local_job(n, State.KILLED))
    if not ALIVE.intersection(family.local_jobs):
        raise NotPossible(f"the grid job is {state.value}: nothing of it is left to be killed")
    failed = {State.FAILED, State.FAILED_FROZEN}.intersection(family.local_jobs)
    return Family(
        State.FAILED if failed else State.KILLED,
        tuple(State.KILLED if each in ALIVE else each for each in family.local_jobs),
    )


def force(family: Family, to: State, n: int | None = None) -> Family:
    """Say that it has completed, or failed, whatever was seen; what is still alive of it is killed first."""
    who, state = ("the grid job", family.grid_job) if n is None else (f"local job {n}", family.local_job(n))
    if state is to:
        return family
    if to not in FORCED_FROM:
        raise NotPossible(f"nothing can be forced to be {to.value}: only to be completed, or failed")
    _require(f"forced to be {to.value}", who, state, FORCED_FROM[to])
    if n is not None:
        return _derived(family.with_local_job(n, to))
    return replace(kill(family) if ALIVE.intersection(family.local_jobs) else family, grid_job=to)


def resplit(family: Family, n: int, pieces: int) -> Family:
    """Let new local jobs, numbered on from the last, do the work of one that has ended, and freeze that one."""
    state = family.local_job(n)
    _require("split again", f"local job {n}", state, ENDED)
    if pieces < 1:
        raise NotPossible(f"local job {n} cannot be split again: that gives no pieces")
    local_jobs = family.with_local_job(n, FREEZES_AS[state]) + (State.WAITING,) * pieces
    return Family(State.SUBMITTED, local_jobs)


def copy(family: Family, n: int | None = None) -> Family:
    """Give the grid job that a copy is, of a grid job or of one local job: new, and nobody's."""
    if n is not None:
        family.local_job(n)
    return Family(State.NEW)


def check_removal(family: Family, n: int | None = None) -> None:
    """Refuse to remove a local job, or a grid job that has not ended."""
    if n is not None:
        family.local_job(n)
        raise NotPossible(f"local job {n} cannot be removed: only a grid job as a whole")
    if family.grid_job not in ENDED | {State.NEW}:
        raise NotPossible(f"the grid job is {family.grid_job.value}: it cannot be removed before it has ended")


def _derived(local_jobs: tuple[State, ...]) -> Family:
    return Family(roll_up(Counter(local_jobs)), local_jobs)


def _require(done: str, who: str, state: State, allowed: frozenset[State]) -> None:
    if state not in allowed:
        raise NotPossible(f"{who} is {state.value}: it cannot be {done}")


FAMILY_VERBS = (Verb.RETRY, Verb.FORCE, Verb.RESPLIT, Verb.EDIT)


ENDED_BADLY = (State.FAILED, State.KILLED, State.NEW)


def too_late(job: GridJob, verb: str) -> str:
    """Say why a wish for a whole grid job would change nothing; empty, if it may. Nothing undoes a cancel."""
    if job.step is Step.FINISHED:
        return f"finished as {job.outcome} already"
    if job.wish == Verb.CANCEL != verb:
        return "a cancel of it is under way"
    # A cancel ends what is gathered in vain.
    return "its outputs are being gathered already" if job.step is Step.COLLECTING and verb != Verb.CANCEL else ""


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

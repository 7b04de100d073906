"""Cases of Ganga's statuses: what a master shows, what may follow what, what people's wishes make of a job."""

from __future__ import annotations

import logging
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from jim.errors import BadRequest
from jim.evidence.transitions import (
    ENDED_BADLY,
    FREEZES_AS,
    NotPossible,
    again_of,
    not_forced,
    not_split_again,
    too_late_to_end,
)
from jim.jobs import LocalJob
from jim.model import Piece, State, roll_up
from jim.site.settings import Limits
from tests.corpus.difference import Difference, same
from tests.support.stand_ins import Answers, Instead, World
from tests.support.statuses import may_become, seen_as

logging.getLogger("jim").addHandler(logging.NullHandler())  # what a keeper says of refusals is not asked for
KINDS = ("rollup", "transition-table", "bulk-submission", "lifecycle")
REFUSED = "refused"
# An action that only says how the subjobs are, such as `one_running`.
NOTHING_DONE = re.compile(f"(one|all)_({'|'.join(each.value for each in State)})")

SENT_OR_NOT = {State.SUBMITTED, State.NEW, State.FAILED}
NEVER_ACCEPTED = {State.FAILED: State.NEW}  # of a grid job that was sent in part, JIM says that the rest has failed


class Family(NamedTuple):
    """The status of a grid job, and the states of its local jobs."""

    grid_job: State
    local_jobs: tuple[State, ...] = ()


def takes(case: dict[str, Any]) -> bool:
    return case.get("kind") in KINDS


def informational(case: dict[str, Any]) -> bool:
    """The design is what counts; where it says nothing, we only look at what the peer does."""
    return case["kind"] == "rollup" and case["expected"]["design"] is None


def answer(case: dict[str, Any]) -> Any:
    return _ANSWERS[case["kind"]](case)


def compare(case: dict[str, Any], got: Any) -> Difference | None:
    wanted = {
        "rollup": lambda: case["expected"]["peer" if informational(case) else "design"],
        "transition-table": lambda: [pair["allowed"] for pair in case["pairs"]],
        "bulk-submission": lambda: case["expected"]["design"],
        "lifecycle": lambda: case["after"] | {REFUSED: "peer_error" in case},
    }[case["kind"]]()
    return None if same(wanted, got) else Difference(case["kind"], wanted, got)


def _rollup(case: dict[str, Any]) -> str | None:
    status = roll_up(Counter(map(State, case["subjob_statuses"])))
    return None if status is State.NEW else status.value


def _transitions(case: dict[str, Any]) -> list[bool]:
    return [may_become(pair["from"], pair["to"]) for pair in case["pairs"]]


def _submission(case: dict[str, Any]) -> dict[str, Any]:
    """Have a keeper send local jobs one by one to a batch system that refuses those which the case says."""
    refused, keep_going = case["submission_fails"], case["keep_going"]
    with tempfile.TemporaryDirectory() as place:
        world = World(Path(place), None, limits=Limits(per_submission=1, queued=len(refused) + 1))
        world.batch.lies = [Instead("submit", Answers.REFUSE if no else Answers.TRUTH) for no in refused]
        try:
            grid = world.submit(argument_sets=[[str(n)] for n in range(len(refused))], keep_going=keep_going)
        except BadRequest:
            return {"error": True, **_shown(Family(State.NEW))}
        world.until(lambda: set() < world.store.counts(grid).keys() <= SENT_OR_NOT)
        states = tuple(NEVER_ACCEPTED.get(each.state, each.state) for each in world.store.local_jobs(grid))
        world.store.close()
    error = State.NEW in states and not keep_going
    return {"error": error, **_shown(_derived(() if {*states} == {State.NEW} else states))}


def _derived(local_jobs: tuple[State, ...]) -> Family:
    return Family(roll_up(Counter(local_jobs), strict=True), local_jobs)


def _shown(after: Family) -> dict[str, Any]:
    return {"master": seen_as(after.grid_job), "subjobs": [seen_as(state) for state in after.local_jobs]}


# What is done, by the first words of the action; how many subjobs are new is what the case shows.
def _act(action: str, before: Family, n: int | None, more: int) -> Family:
    for word, act in (("resubmit", _retry), ("kill", _cancel)):
        if action.startswith(word):
            return act(before, n)
    if action.startswith("force"):
        return _force(before, State.COMPLETED if "force_completed" in action else State.FAILED, n or 0)
    if action.startswith("resplit") and n is not None:
        return _resplit(before, n, more)
    if action.startswith("remove") and (n is not None or not before.grid_job.final):
        raise NotPossible("grid jobs are removed as a whole, once they have ended")
    if not action.startswith(("copy", "remove")) and not NOTHING_DONE.fullmatch(action):
        raise ValueError(f"this translator does not know the action {action!r}")
    return Family(roll_up(Counter(before.local_jobs)), before.local_jobs)


def _local_jobs(before: Family) -> list[LocalJob]:
    piece = Piece(files=("/a/0",))
    return [LocalJob(1, n, state, piece, 1, 1, 0, (), "", "", "", 0.0, "") for n, state in enumerate(before.local_jobs)]


def _retry(before: Family, n: int | None) -> Family:
    """Try again; of what has completed a person says first that it has failed."""
    local_jobs = _local_jobs(before)
    if n is not None and before.local_jobs[n] is State.COMPLETED:
        local_jobs = _local_jobs(_force(before, State.FAILED, n))
    ended = [each for each in local_jobs if each.state in ENDED_BADLY] if n is None else [local_jobs[n]]
    again = {each.n for each in again_of(ended, () if n is None else ((n, n),))}
    if not again and (n is not None or not before.grid_job.final):
        raise NotPossible("nothing of it has ended badly")
    if not again:
        return before
    return _derived(tuple(State.WAITING if m in again else each for m, each in enumerate(before.local_jobs)))


def _cancel(before: Family, n: int | None) -> Family:
    those = {*range(len(before.local_jobs))} if n is None else {n}
    if too_late_to_end({before.local_jobs[m] for m in those}):
        return before
    ended = (State.KILLED if m in those and not each.final else each for m, each in enumerate(before.local_jobs))
    return _derived(tuple(ended))


def _force(before: Family, to: State, n: int) -> Family:
    """Force a local job; one that has not ended is cancelled first."""
    cancelled = _cancel(before, n)
    if wrong := not_forced({cancelled.local_jobs[n]}, to):
        raise NotPossible(wrong)
    return _derived((*before.local_jobs[:n], to, *before.local_jobs[n + 1 :]))


def _resplit(before: Family, n: int, pieces: int) -> Family:
    if wrong := not_split_again(_local_jobs(before)[n]):
        raise NotPossible(wrong)
    frozen = FREEZES_AS[before.local_jobs[n]]
    return _derived((*before.local_jobs[:n], frozen, *before.local_jobs[n + 1 :], *(State.WAITING,) * pieces))


def _lifecycle(case: dict[str, Any]) -> dict[str, Any]:
    before = Family(State(case["before"]["master"]), tuple(map(State, case["before"]["subjobs"])))
    more = len(case["after"]["subjobs"]) - len(before.local_jobs)
    try:
        return {**_shown(_act(case["action"], before, _subjob(case), more)), REFUSED: False}
    except NotPossible:
        return {**_shown(before), REFUSED: True}


def _subjob(case: dict[str, Any]) -> int | None:
    """Find which subjob is meant: the one that changes, or that the error names, or that is as the action says."""
    action, before, after = case["action"], case["before"]["subjobs"], case["after"]["subjobs"]
    whom = re.search("master|subjob", action)  # the first: a subjob may be resubmitted while its master runs
    if whom and whom[0] == "master":
        return None
    changed = [n for n, state in enumerate(before) if n < len(after) and after[n] != state]
    named = re.search(r"\b\d+\.(\d+)\b", case.get("peer_error", ""))
    said = [n for n, state in enumerate(before) if state in action.split("_")]
    if changed:
        return changed[0] if len(changed) == 1 else None
    if named:
        return int(named[1])
    return said[0] if said else 0 if whom else None


_ANSWERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "rollup": _rollup,
    "transition-table": _transitions,
    "bulk-submission": _submission,
    "lifecycle": _lifecycle,
}

"""Cases of Ganga's statuses: what a master shows, what may follow what, what people's wishes make of a job."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from jim.evidence import transitions
from jim.evidence.transitions import Family, NotPossible, may_become
from jim.model import State, roll_up
from tests.corpus.difference import Difference, same

KINDS = ("rollup", "transition-table", "bulk-submission", "lifecycle")
# Where cases leave our words: what waits to be sent is submitted, for people.
SHOWN = {State.WAITING: "submitted"}
REFUSED = "refused"
# An action that only says how the subjobs are, such as `one_running`.
NOTHING_DONE = re.compile(f"(one|all)_({'|'.join(each.value for each in State)})")


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
    after, error = transitions.submission(case["submission_fails"], keep_going=case["keep_going"])
    return {"error": error, **_shown(after)}


def _shown(after: Family) -> dict[str, Any]:
    return {
        "master": SHOWN.get(after.grid_job, after.grid_job.value),
        "subjobs": [SHOWN.get(state, state.value) for state in after.local_jobs],
    }


# What is done, by the first words of the action; how many subjobs are new is what the case shows.
def _act(action: str, before: Family, n: int | None, more: int) -> Family:
    if action.startswith("resubmit"):
        return transitions.resubmit(before, n)
    if action.startswith("kill"):
        return transitions.kill(before, n)
    if action.startswith("force"):
        return transitions.force(before, State.COMPLETED if "force_completed" in action else State.FAILED, n)
    if action.startswith("resplit") and n is not None:
        return transitions.resplit(before, n, more)
    if action.startswith("copy"):
        transitions.copy(before, n)
    elif action.startswith("remove"):
        transitions.check_removal(before, n)
    elif not NOTHING_DONE.fullmatch(action):
        raise ValueError(f"this translator does not know the action {action!r}")
    return Family(roll_up(Counter(before.local_jobs)), before.local_jobs)


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

"""What people may see a status become: the graph that Ganga's users know. Histories and the corpus are held to it."""

from __future__ import annotations

from jim.model import State

# JIM itself stores no `incomplete`, `template`, `removed` or `unknown`.
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
# What has a word of JIM's own.
SEEN_AS = {State.WAITING: "submitted", State.HELD: "submitted", State.SUSPENDED: "running"}


def may_become(before: str, after: str) -> bool:
    """Say whether people may see one status after another; any may stay what it is."""
    return after in MAY_BECOME[before]


def seen_as(state: State) -> str:
    """Give the status that people see."""
    return SEEN_AS.get(state, state.value)

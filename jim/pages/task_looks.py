"""The looks of items and pieces of tasks: those of the states of local jobs that mean the same."""

from __future__ import annotations

from collections.abc import Mapping

from jim.model import State
from jim.pages.shown import by_times, query
from jim.reading.tasks.graph import as_text
from jim.statusdb.task_rows import ItemState, OutputState, PieceState

# In the order in which a bar shows them.
ITEMS: Mapping[str, State] = {
    ItemState.COMPLETED.value: State.COMPLETED,
    ItemState.ACQUIRED.value: State.RUNNING,
    ItemState.AVAILABLE.value: State.WAITING,
    ItemState.PROMISED.value: State.SUBMITTED,
    ItemState.FAILED.value: State.FAILED,
    ItemState.LATE.value: State.HELD,
    ItemState.DROPPED.value: State.KILLED,
    ItemState.GONE.value: State.NEW,
    ItemState.LEFT_OUT.value: State.COMPLETED_FROZEN,
}
PIECES: Mapping[str, State] = {
    PieceState.COMPLETED.value: State.COMPLETED,
    PieceState.SENT.value: State.RUNNING,
    PieceState.READY.value: State.WAITING,
    PieceState.WAITING.value: State.SUBMITTED,
    PieceState.FAILED.value: State.FAILED,
    PieceState.REPLACED.value: State.FAILED_FROZEN,
    PieceState.TAKEN_BACK.value: State.NEW,
}


OUTPUTS: Mapping[str, State] = {
    OutputState.STORED.value: State.COMPLETED,
    OutputState.VERIFIED.value: State.COMPLETING,
    OutputState.PROMISED.value: State.SUBMITTED,
    OutputState.BROKEN.value: State.FAILED,
    OutputState.REPLACED.value: State.FAILED_FROZEN,
    OutputState.WITHDRAWN.value: State.NEW,
}
Named = list[tuple[str, tuple[State, int]]]


def items_named(counts: Mapping[str, int]) -> Named:
    """Return counts of items by state, each with its name and its look."""
    return [(name, (look, counts[name])) for name, look in ITEMS.items() if counts.get(name)]


def pieces_named(counts: Mapping[str, int]) -> Named:
    """Return counts of pieces by state, each with its name and its look."""
    return [(name, (look, counts[name])) for name, look in PIECES.items() if counts.get(name)]


def outputs_named(counts: Mapping[str, int]) -> Named:
    """Return counts of outputs by state, each with its name and its look."""
    return [(name, (look, counts[name])) for name, look in OUTPUTS.items() if counts.get(name)]


def pieces_shown(counts: Mapping[str, int]) -> list[tuple[State, int]]:
    """Return counts of pieces by the looks of their states."""
    return [shown for _, shown in pieces_named(counts)]


IN_TEMPLATES = {
    "items_named": items_named,
    "pieces_named": pieces_named,
    "pieces_shown": pieces_shown,
    "outputs_named": outputs_named,
    "look_of": {**OUTPUTS, **PIECES, **ITEMS},
    "graph_lines": as_text,
    "query": query,
    "by_times": by_times,
}

"""Decides what people may do by hand to the grid jobs of a task: the same for the command line and the keeper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from jim.jobs import GridJob
from jim.model import State, Verb
from jim.statusdb.store import Store
from jim.statusdb.task_rows import Task, TaskState, Wave

RECOVER = "recover"  # no wish: it writes a request
RECOVERS = "use 'jim task recover {task}'"  # else its items would be worked on outside of the task
WHY_NOT = {
    Verb.RESPLIT: RECOVERS,
    Verb.REDO: "use 'jim task redo {task}'",  # what was made of it is to be done again, too
    Verb.EDIT: "use 'jim task fix {task}'",
    Verb.REMOVE: "use 'jim task remove {task}' once the task has ended",
    RECOVER: f"{RECOVERS}; 'jim retry {{grid}}' tries again what has failed",
}
COUNTS = "force is not possible: it has completed, and what it has brought counts"
FORCED = "force is not possible: nothing shows that its outputs are whole; 'jim retry {target}' tries it again"


class HasStore(Protocol):
    """The keeper, or what people read."""

    @property
    def store(self) -> Store:
        """The store."""


def refused_on_wave(of: HasStore, job: GridJob, slices: Sequence[tuple[int, int]], content: Mapping[str, Any]) -> str:
    """Return why a verb is refused for a grid job of a task; empty: the task follows it, or is forgotten."""
    wave = of.store.waves.of_grid_job(job.id)
    task = of.store.tasks.one(wave.task) if wave else None
    if wave is None or task is None:
        return ""
    verb, target = content["verb"], str(content.get("target", job.id))
    words = WHY_NOT.get(verb, "")
    if verb == Verb.REMOVE and wave.t and task.tests != wave.t:
        return ""  # a test that is over belongs to nobody
    if verb == Verb.FORCE and _claims_too_much(of.store, job, slices, content):
        words = FORCED if content.get("to") == State.COMPLETED.value else COUNTS
    if verb == Verb.RETRY and task.state in (TaskState.CANCELLING, TaskState.CANCELLED):
        words = f"the task is {task.state.value}"
    sentence = words.format(task=task.name, grid=job.id, target=target)
    return f"{target} is {named(of.store, task, wave, slices)}: {sentence}" if words else ""


def _claims_too_much(store: Store, job: GridJob, slices: Sequence[tuple[int, int]], content: Mapping[str, Any]) -> bool:
    """Tell whether a person declares completed what has no verified outputs, or failed what has them."""
    if content.get("to") == State.COMPLETED.value:
        return True
    numbers = (n for first, last in slices for n in range(first, min(last + 1, job.size)))
    return any(store.state(job.id, n) is State.COMPLETED for n in numbers)


def named(store: Store, task: Task, wave: Wave, slices: Sequence[tuple[int, int]]) -> str:
    """Return what a grid job or a local job is for its task."""
    if wave.t:
        return f"test {wave.t} of task {task.name}"
    if len(slices) == 1 and slices[0][0] == slices[0][1]:
        pieces = [each.p for each in store.pieces.of_wave(wave.task, wave.w) if each.n == slices[0][0]]
        if pieces:
            return f"piece {task.name}/{pieces[0]}"
    return f"wave {wave.w} of task {task.name}"

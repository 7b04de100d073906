"""Counts the attempts of a task that have ended, for its throttle."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence

from jim.jobs import Attempt, Journal
from jim.model import IN_BATCH, Kind, State
from jim.statusdb.task_rows import TaskState, Wave
from jim.tasks.keeping import Keeper
from jim.tasks.throttle import End, count, read

log = logging.getLogger(__name__)
NEVER = float("inf")
BEFORE = frozenset(state.value for state in IN_BATCH)
# No attempts of the payload, or ended by people: they say nothing of how it goes.
NOT_COUNTED = frozenset(
    {Kind.CANCELLED, Kind.WISHED, Kind.REMOVED, Kind.PUT_BACK, Kind.RESTORED, Kind.AVOIDED, Kind.NOT_ACCEPTED}
    | {Kind.REFUSED, Kind.TOO_MANY, Kind.NEVER_SENT, Kind.NOT_MADE}
)


def ends_in(keeper: Keeper, wave: Wave, lines: Iterable[Journal]) -> Iterator[End]:
    """Yield the attempts that have ended in these lines, also those that are tried again."""
    for line in lines:
        if line.n is None or line.was not in BEFORE:
            continue
        if line.now == State.COMPLETED.value:
            yield End(wave.w, well=True)
        elif line.now in (State.FAILED.value, State.WAITING.value):
            attempts = keeper.store.attempts(wave.grid, n=line.n)
            ended = [each for each in attempts if each.attempt == line.attempt]
            if ended and _counts(keeper, ended):
                yield End(wave.w, False, ended[0].reason)


def _counts(keeper: Keeper, ended: Sequence[Attempt]) -> bool:
    """Tell whether an attempt has failed by itself, and no black hole has eaten it."""
    (each, *_) = ended
    if not each.verdict or each.kind in NOT_COUNTED:
        return False
    return not keeper.store.spared_among([(each.grid, each.k, each.idx)])


def count_ends(keeper: Keeper, number: int, ends: Sequence[End]) -> None:
    """Let the throttle of a task follow; it may pause the task."""
    task = keeper.store.task(number)
    if task is None or task.state not in (TaskState.RUNNING, TaskState.PAUSED):
        return
    before = read(task.throttle)
    decided = count(before, ends, task.next_wave, keeper.clock.steady())
    if decided.throttle != before:
        keeper.store.set_task(number, throttle=decided.throttle._asdict())
    if decided.told:
        keeper.store.note_task(number, "throttle", decided.told)
        log.info("task %s: %s", task.name, decided.told)
    if decided.paused and task.state is TaskState.RUNNING:
        keeper.store.set_task(number, state=TaskState.PAUSED, reason=decided.paused)


def tick(keeper: Keeper, number: int) -> float:
    """Let a decision fall for which the time has come; return when the next one may."""
    task = keeper.store.task(number)
    state = read(task.throttle) if task else None
    if state is None or not state.ended:
        return NEVER
    due = keeper.clock.boot_at(state.decided + state.probe_seconds)
    if due > keeper.clock.boot():
        return due
    count_ends(keeper, number, ())
    return NEVER

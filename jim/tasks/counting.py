"""Counts the attempts of a task that have ended, for its throttle."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jim.jobs import Attempt, Journal
from jim.model import IN_BATCH, Kind, State
from jim.statusdb.task_rows import EATEN, Ended, PieceState, TaskState, Wave
from jim.tasks.keeping import Keeper
from jim.tasks.throttle import End, count, read, spared

log = logging.getLogger(__name__)
NEVER = float("inf")
BEFORE = frozenset(state.value for state in IN_BATCH)
# No attempts of the payload, or ended by people: they say nothing of how it goes.
NOT_COUNTED = frozenset(
    {Kind.CANCELLED, Kind.WISHED, Kind.REMOVED, Kind.PUT_BACK, Kind.RESTORED, Kind.AVOIDED, Kind.NOT_ACCEPTED}
    | {Kind.REFUSED, Kind.TOO_MANY, Kind.NEVER_SENT, Kind.NOT_MADE}
)


def ends_in(keeper: Keeper, wave: Wave, lines: Iterable[Journal], brought: Mapping[int, Ended | None]) -> Iterator[End]:
    """Yield the attempts that have ended in these lines, also those that are tried again.

    `brought` has the pieces of completed local jobs: one that lacks outputs has failed, and one whose outputs are
    still to be read counts once they are.
    """
    for line in lines:
        if line.n is None or line.was not in BEFORE:
            continue
        if line.now == State.COMPLETED.value:
            ended = brought.get(line.n, Ended(0, PieceState.COMPLETED))
            if ended:
                sent = sent_at(keeper, wave, line.n)
                yield End(wave.w, ended.state is PieceState.COMPLETED, ended.reason, sent)
        elif line.now in (State.FAILED.value, State.WAITING.value):
            tried = [each for each in keeper.store.attempts(wave.grid, n=line.n) if each.attempt == line.attempt]
            if tried and _counts(keeper, tried):
                yield End(wave.w, False, tried[0].reason, sent_at(keeper, wave, line.n))


def sent_at(keeper: Keeper, wave: Wave, n: int) -> int:
    """Return the line of the journal in which an attempt was sent, if its wave is older than the last bad decision.

    A piece may be released before the trouble and sent after it: while most fail, waves have little room.
    """
    task = keeper.store.tasks.one(wave.task)
    if task is None or wave.w >= read(task.throttle).shrunk:
        return 0
    return max(
        (each.seq for each in keeper.store.journals.of(wave.grid, n) if each.now == State.SUBMITTING.value), default=0
    )


def _counts(keeper: Keeper, ended: Sequence[Attempt]) -> bool:
    """Tell whether an attempt has failed by itself, and no black hole has eaten it."""
    (each, *_) = ended
    if not each.verdict or each.kind in NOT_COUNTED:
        return False
    return not keeper.store.spared.among([(each.grid, each.k, each.idx)])


def count_ends(keeper: Keeper, number: int, ends: Sequence[End]) -> None:
    """Let the throttle of a task follow; it may pause the task."""
    task = keeper.store.tasks.one(number)
    if task is None or task.state not in (TaskState.RUNNING, TaskState.PAUSED):
        return
    before = read(task.throttle)
    decided = count(before, ends, task.next_wave, keeper.clock.steady(), keeper.store.seen.journal_end())
    if decided.throttle != before:
        keeper.store.tasks.change(number, throttle=decided.throttle._asdict())
    if decided.told:
        keeper.store.tasks.note(number, "throttle", decided.told)
        log.info("task %s: %s", task.name, decided.told)
    if decided.paused and task.state is TaskState.RUNNING:
        keeper.store.tasks.change(number, state=TaskState.PAUSED, reason=decided.paused)


def has_been_eaten(keeper: Keeper, attempt: Attempt, *, alone: bool) -> None:
    """Let a failure that a black hole has eaten not count for the throttle of its task.

    With `alone`, nothing else tries its piece again: its grid job has ended.
    """
    wave = keeper.store.waves.of_grid_job(attempt.grid)
    task = keeper.store.tasks.one(wave.task) if wave and not wave.t else None
    if wave is None or task is None or task.state not in (TaskState.RUNNING, TaskState.PAUSED, TaskState.FINISHED):
        return
    state = read(task.throttle)
    if _is_counted(keeper, wave, attempt):
        state, words = spared(state)
        if words:
            keeper.store.tasks.note(task.id, "throttle", words)
    again: dict[str, Any] = {}
    if alone:
        pieces = [each.p for each in keeper.store.pieces.of_wave(task.id, wave.w) if each.n == attempt.n]
        keeper.store.pieces.want_again(task.id, pieces, EATEN)
        state = state._replace(retry=1)
        if task.state is TaskState.FINISHED:
            again = {"state": TaskState.RUNNING, "outcome": "", "reason": "a black hole has eaten a piece"}
    keeper.store.tasks.change(task.id, throttle=state._asdict(), **again)


def _is_counted(keeper: Keeper, wave: Wave, attempt: Attempt) -> bool:
    """Tell whether the end of an attempt has been followed: else it will not be counted at all."""
    lines = keeper.store.journals.of(attempt.grid, attempt.n)
    own = [each for each in lines if each.attempt == attempt.attempt and each.was in BEFORE]
    return any(each.now in (State.FAILED.value, State.WAITING.value) and each.seq <= wave.followed for each in own)


def tick(keeper: Keeper, number: int) -> float:
    """Let a decision fall for which the time has come; return when the next one may."""
    task = keeper.store.tasks.one(number)
    state = read(task.throttle) if task else None
    if state is None or not state.ended:
        return NEVER
    due = keeper.clock.boot_at(state.decided + state.probe_seconds)
    if due > keeper.clock.boot():
        return due
    count_ends(keeper, number, ())
    return NEVER

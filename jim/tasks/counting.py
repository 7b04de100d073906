"""Counts the attempts of a task that have ended, for its throttle."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jim.clock import age_seconds, as_utc, seconds_of
from jim.evidence.exit_record import times_of
from jim.jobs import Attempt, Journal
from jim.model import IN_BATCH, Kind, State
from jim.statusdb.task_rows import EATEN, Ended, PieceState, TaskState, Wave
from jim.tasks.keeping import Keeper
from jim.tasks.throttle import End, count, spared
from jim.tasks.throttle_row import read

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
        tried = list(keeper.store.attempts(wave.grid, n=line.n))
        own = next((each for each in tried if each.attempt == line.attempt), None)
        if line.now == State.COMPLETED.value:
            ended = brought.get(line.n, Ended(0, PieceState.COMPLETED))
            if ended:
                yield _judged(keeper, wave, line.n, own, ended)
        elif own and line.now in (State.FAILED.value, State.WAITING.value) and _counts(keeper, own):
            end = _judged(keeper, wave, line.n, own, Ended(0, PieceState.FAILED, own.reason), line.seq)
            yield end._replace(first=_is_first(keeper, own, tried))


def end_of(keeper: Keeper, wave: Wave, n: int, ended: Ended) -> End:
    """Return the end of the last attempt at a piece, of which only now is known what it has brought."""
    tried = list(keeper.store.attempts(wave.grid, n=n))
    return _judged(keeper, wave, n, max(tried, key=lambda each: each.attempt, default=None), ended)


def _judged(keeper: Keeper, wave: Wave, n: int, tried: Attempt | None, ended: Ended, before: float = NEVER) -> End:
    """Return the end of an attempt, with the line of the journal that says that it was sent."""
    lines = keeper.store.journals.of(wave.grid, n)
    line = max((each.seq for each in lines if each.now == State.SUBMITTING.value and each.seq < before), default=0)
    well, sent, seconds = ended.state is PieceState.COMPLETED, _sent(keeper, tried), _seconds(tried)
    return End(well, ended.reason, line, sent, seconds)


def _sent(keeper: Keeper, tried: Attempt | None) -> float:
    """Return when an attempt was sent, in seconds since 1970; 0: that is not known."""
    submission = keeper.store.submission(tried.grid, tried.k) if tried else None
    if submission is None or not submission.booted:
        return 0.0
    since = keeper.clock.since_booted(submission.booted)  # of another run of the machine, only its clock tells
    return (seconds_of(submission.intended) or 0.0) if since is None else keeper.clock.steady() - since


def _seconds(tried: Attempt | None) -> float:
    """Return how long an attempt ran; 0: it did not start, or that is not known."""
    measured = times_of(tried.record) if tried and tried.record else None
    if measured:
        return measured[0]
    return age_seconds(tried.started, tried.updated) if tried and tried.started else 0.0


def _is_first(keeper: Keeper, own: Attempt, tried: Iterable[Attempt]) -> bool:
    """Tell whether no attempt at a piece in its wave has failed by itself before this one."""
    return not any(each.attempt < own.attempt and _counts(keeper, each) for each in tried)


def _counts(keeper: Keeper, tried: Attempt) -> bool:
    """Tell whether an attempt has failed by itself, and no black hole has eaten it."""
    if not tried.verdict or tried.kind in NOT_COUNTED:
        return False
    return not keeper.store.spared.among([(tried.grid, tried.k, tried.idx)])


def count_ends(keeper: Keeper, number: int, ends: Sequence[End]) -> None:
    """Let the throttle of a task follow; it may pause the task."""
    task = keeper.store.tasks.one(number)
    if task is None or task.state not in (TaskState.RUNNING, TaskState.PAUSED):
        return
    row, store = read(task.throttle), keeper.store
    now, end = keeper.clock.steady(), store.seen.journal_end()

    def outlasting(line: int, seconds: float) -> int:
        return store.waves.outlasting(number, line, as_utc((seconds_of(keeper.clock.utc()) or 0.0) - seconds))

    decided = count(row.throttle, row.limits, ends, now, end, outlasting)
    if decided.throttle != row.throttle:
        orders = row.orders._replace(again=row.orders.again or decided.again)
        store.tasks.change(number, throttle=row._replace(throttle=decided.throttle, orders=orders).stored())
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
    row = read(task.throttle)
    if _is_counted(keeper, wave, attempt):
        state, words = spared(row.throttle)
        row = row._replace(throttle=state)
        if words:
            keeper.store.tasks.note(task.id, "throttle", words)
    again: dict[str, Any] = {}
    if alone:
        pieces = [each.p for each in keeper.store.pieces.of_wave(task.id, wave.w) if each.n == attempt.n]
        keeper.store.pieces.want_again(task.id, pieces, EATEN)
        row = row._replace(orders=row.orders._replace(retry=1))
        if task.state is TaskState.FINISHED:
            again = {"state": TaskState.RUNNING, "outcome": "", "reason": "a black hole has eaten a piece"}
    keeper.store.tasks.change(task.id, throttle=row.stored(), **again)


def _is_counted(keeper: Keeper, wave: Wave, attempt: Attempt) -> bool:
    """Tell whether an attempt has been counted as the first failure of its piece: else it will not be, or never was."""
    lines = keeper.store.journals.of(attempt.grid, attempt.n)
    own = [each for each in lines if each.attempt == attempt.attempt and each.was in BEFORE]
    if not any(each.now in (State.FAILED.value, State.WAITING.value) and each.seq <= wave.followed for each in own):
        return False
    return _is_first(keeper, attempt, keeper.store.attempts(attempt.grid, n=attempt.n))


def tick(keeper: Keeper, number: int) -> float:
    """Let a decision fall for which the time has come; return when the next one may."""
    task = keeper.store.tasks.one(number)
    row = read(task.throttle) if task else None
    if row is None or not row.throttle.ended:
        return NEVER
    due = keeper.clock.boot_at(row.throttle.decided + row.limits.probe_seconds)
    if due > keeper.clock.boot():
        return due
    count_ends(keeper, number, ())
    return NEVER

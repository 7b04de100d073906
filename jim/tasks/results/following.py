"""Follows the grid jobs of tasks: what became of local jobs becomes the state of pieces, and so of items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jim.doors import inbox
from jim.jobs import GridJob, LocalJob
from jim.model import FROZEN, Kind, State, Step, Verb, Witness
from jim.statusdb.task_rows import REDO, Ended, PieceRow, PieceState, TaskState, Wave, WaveState
from jim.tasks.counting import count_ends, ends_in
from jim.tasks.frozen_local_jobs import FROZEN_AS
from jim.tasks.keeping import Keeper
from jim.tasks.results.brought_files import bring
from jim.tasks.unexpected_errors import alone

BY_PAUSE, BY_CANCEL = "pause", "cancel"
GIVEN_UP = (PieceState.REPLACED, PieceState.TAKEN_BACK)
FROZEN_WORDS = "its task was paused, which ended it; its piece is released again"
REDO_WORDS = "what it was sent with is made again; its piece is released again"


def follow(keeper: Keeper) -> set[int]:
    """Follow all waves whose grid jobs have changed; return the tasks that they belong to."""
    behind = keeper.store.waves.behind()
    for wave in behind:
        with alone(keeper, wave.task):
            follow_wave(keeper, wave)
    return {each.task for each in behind}


def follow_wave(keeper: Keeper, wave: Wave) -> None:
    """Take in the lines of a wave's journal since the last time, in one transaction with all that follows from them."""
    with keeper.store.transaction():
        job = keeper.store.grid_job(wave.grid)
        lines = keeper.store.waves.lines(wave)
        last = lines[-1].seq if lines else wave.followed
        if not wave.t:
            changed = {line.n for line in lines if line.n is not None}
            pieces = {each.n: each for each in keeper.store.pieces.of_wave(wave.task, wave.w)}
            brought = _take(keeper, wave, job, pieces, changed)
            count_ends(keeper, wave.task, list(ends_in(keeper, wave, lines, brought)))
        left = sum(each.state is PieceState.SENT for each in keeper.store.pieces.of_wave(wave.task, wave.w))
        kept = wave.t or not (left or keeper.store.outputs.any_to_do(wave.task, wave.w))
        done = job.step is Step.FINISHED and kept
        state = WaveState.SETTLED if done else WaveState.HANDED_IN
        keeper.store.waves.change(wave, followed=last, version=job.version, state=state)


def _take(
    keeper: Keeper, wave: Wave, job: GridJob, pieces: dict[int, PieceRow], changed: set[int]
) -> Mapping[int, Ended | None]:
    """Give pieces the states that their local jobs have now.

    Return what became of pieces whose local jobs are completed; none: what they have left is still to be read.
    """
    if not job.size:
        if job.step is Step.FINISHED:
            _end_whole(keeper, wave, job, pieces)
        return {}
    if wave.version < 0 or not wave.followed or job.step is Step.FINISHED:
        changed = changed.union(pieces)  # those that have failed on their creation have no line
    again: dict[int, int] = {}
    ended: list[Ended] = []
    for n in sorted(changed & pieces.keys()):
        local = keeper.store.local_job(wave.grid, n)
        if words := _released_again(wave, pieces[n], local):
            again[pieces[n].p] = local.attempt
            columns = {"witness": Witness.USER, "reason": words, "wish": ""}
            keeper.store.set_local_job(wave.grid, n, state=FROZEN_AS[local.state], **columns)
            keeper.store.outputs.make_anew(wave.task, pieces[n].p, {})
        else:
            ended += _end(keeper, pieces[n], job, local)
    moved = {each.p: each for each in bring(keeper, wave, job, pieces, ended)}
    keeper.store.pieces.move(wave.task, moved.values())
    if again:
        keeper.store.pieces.ready_again(wave.task, again, "")
    completed = {each.p for each in ended if each.state is PieceState.COMPLETED}
    return {n: moved.get(each.p) for n, each in pieces.items() if each.p in completed}


def _released_again(wave: Wave, piece: PieceRow, local: LocalJob) -> str:
    """Say why the piece of a local job that has ended is released again; empty: it is not."""
    if piece.again == REDO:
        return REDO_WORDS if local.state in FROZEN_AS else ""
    # What a person has cancelled has a wish of its own.
    ended = local.state in (State.KILLED, State.NEW) and local.wish != Verb.CANCEL
    return FROZEN_WORDS if wave.ending == BY_PAUSE and ended else ""


def _end(keeper: Keeper, piece: PieceRow, job: GridJob, local: LocalJob) -> Iterator[Ended]:
    """Return the state that a piece has by its local job, if it is another one."""
    if local.state in FROZEN or piece.state in GIVEN_UP:
        return
    if local.state is State.COMPLETED and piece.kind is Kind.NOT_BROUGHT:
        return  # its outputs were looked at
    state, reason, kind = PieceState.SENT, "", Kind.UNKNOWN
    if local.state is State.COMPLETED:
        state = PieceState.COMPLETED
    elif local.state.final:
        state = PieceState.FAILED
        kind = Kind.CANCELLED if local.state is State.KILLED else local.kind
        reason = cancelled(keeper, job, local.n) or local.reason if local.state is State.KILLED else local.reason
    if state != piece.state or reason != piece.reason:
        yield Ended(piece.p, state, reason, kind)


def cancelled(keeper: Keeper, job: GridJob, n: int | None) -> str:
    """Say who has cancelled a local job, or its grid job; empty: nobody is known."""
    asked = f"{Verb.CANCEL} requested"
    lines = [line for line in keeper.store.journals.of(job.id, last=5000) if line.now == asked]
    own = [line for line in lines if line.n == n] or [line for line in lines if line.n is None]
    who = inbox.account_in(own[-1].reason) if own else ""
    return f"cancelled by {who}" if who else ""


def _end_whole(keeper: Keeper, wave: Wave, job: GridJob, pieces: dict[int, PieceRow]) -> None:
    """End the pieces of a grid job that has ended before it had local jobs."""
    sent = [each for each in pieces.values() if each.state is PieceState.SENT]
    if wave.ending == BY_PAUSE:
        keeper.store.pieces.ready_again(wave.task, {each.p: 0 for each in sent}, "")
        return
    reason = cancelled(keeper, job, None) if job.outcome == State.KILLED.value else ""
    reason = reason or job.reason or f"grid job {job.id} ended as {job.outcome}"
    keeper.store.pieces.move(wave.task, [Ended(each.p, PieceState.FAILED, reason, Kind.NOT_MADE) for each in sent])


def unsettle(keeper: Keeper, job: GridJob) -> None:
    """Follow a grid job again that a person has opened again; its task goes on, too."""
    wave = keeper.store.waves.of_grid_job(job.id)
    if wave is None or wave.state is not WaveState.SETTLED:
        return
    keeper.store.waves.change(wave, state=WaveState.HANDED_IN, version=-1)
    task = keeper.store.tasks.one(wave.task)
    if task and task.state is TaskState.FINISHED and not wave.t:
        keeper.store.tasks.change(task.id, state=TaskState.RUNNING, outcome="", reason=f"a retry of {job.id}")

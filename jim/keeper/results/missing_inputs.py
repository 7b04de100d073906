"""Says of failed local jobs which of their inputs are gone: that is not their program's own failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jim.evidence.reasons import reason
from jim.jobs import GridJob, LocalJob
from jim.keeper.keeper import Keeper
from jim.model import Kind, Reason, State, Witness
from jim.statusdb.task_rows import Ended, PieceRow, PieceState

Gone = tuple[LocalJob, Sequence[str]]  # a local job as it was looked at, and the paths of its inputs that are gone


def name(keeper: Keeper, job: GridJob, gone: Mapping[int, Gone]) -> None:
    """Store the names of missing inputs as the reasons of local jobs, of their attempts and of pieces of a task."""
    if not gone:
        return
    wave = keeper.store.waves.of_grid_job(job.id)
    pieces = {each.n: each for each in keeper.store.pieces.of_wave(wave.task, wave.w)} if wave and not wave.t else {}
    for n, (local, paths) in gone.items():
        piece = pieces.get(n)
        names = _names(keeper, piece) if piece else {}
        reason = _told(keeper, local, [names.get(path, path) for path in paths])
        if reason and piece and piece.state is PieceState.FAILED:
            keeper.store.pieces.move(piece.task, [Ended(piece.p, piece.state, reason.words, reason.kind)])


def files_of_tasks(keeper: Keeper, job: GridJob, numbers: Iterable[int]) -> dict[int, frozenset[str]]:
    """Return the files that local jobs of a wave have, as far as their task has seen them as files."""
    wave = keeper.store.waves.of_grid_job(job.id) if job.is_of_task else None
    if wave is None or wave.t:
        return {}
    pieces = {each.n: each for each in keeper.store.pieces.of_wave(wave.task, wave.w)}
    return {n: frozenset(_names(keeper, pieces[n])) for n in numbers if n in pieces}


def _names(keeper: Keeper, piece: PieceRow) -> dict[str, str]:
    """Return what a task calls the files of a piece, by their paths; other names of items lead to no file here."""
    numbers = {part[1] for part in keeper.store.task_documents.parts_of_pieces(piece.task, range(piece.p, piece.p + 1))}
    items = keeper.store.pools.items(piece.task, numbers).values()
    return {str(each.record.get("lfn", each.name)): each.name for each in items if each.output or each.mtime}


def _told(keeper: Keeper, local: LocalJob, names: Sequence[str]) -> Reason | None:
    """Store the new reason of a local job; None if another attempt or verdict has come meanwhile."""
    now, attempt = keeper.store.local_job(local.grid, local.n), keeper.store.last_run(local.grid, local.n)
    if attempt is None or (now.state, now.attempt, now.kind) != (State.FAILED, local.attempt, Kind.EXIT):
        return None
    what = f"input {names[0]} is gone" if len(names) == 1 else f"input {names[0]} and {len(names) - 1:,} more are gone"
    found = reason(Kind.INPUT_GONE, attempt.facts, what=what)
    keeper.store.set_attempt(attempt.grid, attempt.k, attempt.idx, reason=found)
    keeper.store.set_local_job(local.grid, local.n, reason=found)
    keeper.store.note(local.grid, "input gone", Witness.KEEPER, f"attempt {attempt.attempt}: {what}", local.n)
    return found

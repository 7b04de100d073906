"""Freezes local jobs whose work other local jobs do: nothing tries them again, and they count no more."""

from __future__ import annotations

from contextlib import suppress

from jim.errors import UnknownJob
from jim.model import State, Witness
from jim.statusdb.task_rows import PieceRow
from jim.tasks.keeping import Keeper

FAILED = (State.FAILED, State.KILLED, State.NEW)
FROZEN_AS = dict.fromkeys(FAILED, State.FAILED_FROZEN) | {State.COMPLETED: State.COMPLETED_FROZEN}


def freeze(keeper: Keeper, piece: PieceRow, why: str) -> int:
    """Freeze the local job of a failed piece, if there is one; return how many attempts it had."""
    grids = {each.w: each.grid for each in keeper.store.waves.all(piece.task) if not each.t}
    if not grids.get(piece.wave):
        return 0
    with suppress(UnknownJob):  # its grid job was removed
        local = keeper.store.local_job(grids[piece.wave], piece.n)
        if local.state in FROZEN_AS:
            columns = {"witness": Witness.USER, "reason": why, "wish": ""}
            keeper.store.set_local_job(grids[piece.wave], piece.n, state=FROZEN_AS[local.state], **columns)
        return local.attempt
    return 0

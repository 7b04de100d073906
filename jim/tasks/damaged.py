"""Heeds files of completed pieces that are gone or changed before they were stored, or given to another task.

Such a piece fails, so its promise breaks. A few are tried again as the rules of their requests say; of more, a person
decides: the work directory may be another one. What was used meanwhile is not made a second time.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jim.errors import Fault, JimError, UnknownJob, in_words
from jim.evidence.verdict import few_lost
from jim.files import open_regular, passes
from jim.jobs import GridJob
from jim.model import Kind, Step
from jim.statusdb.task_rows import SPOILT, USED, Ended, Output, PieceState, Task, TaskState, Wave
from jim.tasks.keeping import Keeper

log = logging.getLogger(__name__)
AWAY_SECONDS = 3600.0  # a directory that is away may come back
AGAIN_SECONDS = 10.0
LOOKED_AT = 1_000  # outputs that wait
OVER = (TaskState.CANCELLING, TaskState.CANCELLED)
# The keeper lets a local job fail whose outputs are lost: of which grid job, which, why, and whether it is tried again.
Spoil = Callable[[Any, GridJob, int, str, bool], None]


class Damage(NamedTuple):
    """What is wrong with the file of a completed piece."""

    output: Output
    problem: str
    away: bool  # its whole directory is


class Damaged(JimError):
    """Files that a wave is to be given are gone or changed."""

    def __init__(self, damages: Sequence[Damage]) -> None:
        more = f", and {len(damages) - 1} more" if len(damages) > 1 else ""
        super().__init__(f"{damages[0].problem}{more}")
        self.damages = damages


def damage_of(output: Output, path: str, error: BaseException) -> Damage | None:
    """Return what an error says of a file; none: it may pass, and shows nothing."""
    if isinstance(error, Fault) or (isinstance(error, OSError) and passes(error)):
        return None
    gone = isinstance(error, FileNotFoundError | NotADirectoryError)
    words = in_words(error) if isinstance(error, OSError) else str(error)
    return Damage(output, f"{path}: {words}", gone and not os.path.lexists(Path(path).parent))


def damaged(outputs: Iterable[Output]) -> list[Damage]:
    """Return what is damaged of files that are to be given to a wave. Runs in a worker."""
    return [damage for each in outputs if (damage := _damage(each))]


def _damage(output: Output) -> Damage | None:
    try:
        _look(output)
    except (JimError, OSError) as error:
        return damage_of(output, output.place, error)
    return None


def _look(output: Output) -> None:
    """Compare a file with what was verified; read only what was touched since."""
    with os.fdopen(open_regular(Path(output.place)), "rb") as file:
        about = os.fstat(file.fileno())
        if about.st_size != output.bytes:
            raise JimError(f"{about.st_size:,} bytes instead of {output.bytes:,}")
        if about.st_ctime > output.changed and hashlib.file_digest(file, "sha256").hexdigest() != output.sha256:
            raise JimError("other content than when the payload ended")


def are_sure(keeper: Keeper, damages: Iterable[Damage]) -> bool:
    """Tell whether any file is still damaged after it had its time to come back."""
    return any(_is_sure(keeper, each) for each in damages)


def _is_sure(keeper: Keeper, damage: Damage) -> bool:
    return damage.output.tries == SPOILT and damage.output.due <= keeper.clock.steady()


def heed(keeper: Keeper, damages: Sequence[Damage], spoil: Spoil) -> None:
    """Let pieces fail whose files are still damaged after a while, in a transaction of the caller's."""
    for each in damages:
        if each.output.tries not in (SPOILT, USED):
            patience = AWAY_SECONDS if each.away else keeper.site.batch.visible_seconds
            _ask_again(keeper, each, SPOILT, patience)
            log.warning("output %s of piece %d: %s", each.output.stream, each.output.p, each.problem)
    for number in {each.output.task for each in damages}:
        task = keeper.store.tasks.one(number)
        sure = [each for each in damages if each.output.task == number and _is_sure(keeper, each)]
        if task and sure and task.state not in OVER:
            again = _are_few(keeper, task, sure) and not any(each.away for each in sure)
            for each in sure:
                _fail(keeper, task, each, spoil, again=again)


def _ask_again(keeper: Keeper, damage: Damage, tries: int, seconds: float) -> None:
    due = keeper.clock.steady() + seconds
    keeper.store.outputs.change(damage.output.id, reason=damage.problem, tries=tries, due=due)


def _are_few(keeper: Keeper, task: Task, sure: Sequence[Damage]) -> bool:
    waiting = keeper.store.outputs.in_trouble(task.id, LOOKED_AT)
    lost = {each.id for each in waiting if each.tries == SPOILT} | {each.output.id for each in sure}
    return few_lost(len(lost), keeper.store.tasks.counts(task.id, "pieces").get(PieceState.COMPLETED, 0))


def _fail(keeper: Keeper, task: Task, damage: Damage, spoil: Spoil, *, again: bool) -> None:
    """Let the piece fail that has brought a damaged file, unless anything else of it is stored or used."""
    output = damage.output
    piece = keeper.store.pieces.one(task.id, output.p)
    if piece is None or piece.state not in (PieceState.COMPLETED, PieceState.SENT):
        return  # another file of it was damaged, too
    wave = keeper.store.waves.one(task.id, piece.wave)
    job = _job_of(keeper, wave)
    if job and job.step is Step.COLLECTING:
        _ask_again(keeper, damage, SPOILT, AGAIN_SECONDS)  # its tar is being made
        return
    if keeper.store.outputs.is_used(task.id, output.p, but=output.id):
        _ask_again(keeper, damage, USED, AWAY_SECONDS)
        words = f"more of it is used, so 'jim task redo {task.name}/{output.p}' decides: {damage.problem}"
        keeper.store.tasks.note(task.id, "damaged", f"piece {output.p}: {words}")
        return
    keeper.store.tasks.note(task.id, "damaged", f"piece {output.p}: {damage.problem}")
    if job:
        spoil(keeper, job, piece.n, damage.problem, again)
    else:
        why = f"its outputs are lost: {damage.problem}"
        keeper.store.pieces.move(task.id, [Ended(piece.p, PieceState.FAILED, why, Kind.OUTPUTS_LOST)])
    keeper.store.outputs.is_lost(output)


def _job_of(keeper: Keeper, wave: Wave | None) -> GridJob | None:
    try:
        return keeper.store.grid_job(wave.grid) if wave else None
    except UnknownJob:
        return None

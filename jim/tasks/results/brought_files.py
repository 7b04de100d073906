"""What pieces bring into output pools: the files that their completed local jobs have left, by the exit records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from jim.evidence.exit_record import ExitRecord, read_exit_record
from jim.jobs import GridJob
from jim.model import Kind
from jim.statusdb.task_rows import Brought, Ended, PieceRow, PieceState, Task, Todo, Wave
from jim.statusdb.task_spec import OutputSpec
from jim.tasks.effects import fix_of
from jim.tasks.file import streams
from jim.tasks.keeping import Keeper
from jim.workdir.submission import submission_directory


def bring(
    keeper: Keeper, wave: Wave, job: GridJob, pieces: Mapping[int, PieceRow], ended: Iterable[Ended]
) -> Iterator[Ended]:
    """Take what completed pieces have left; a piece without what it has promised has failed.

    If a file describes what a piece has left, the piece is completed once a worker has read that.
    """
    task = keeper.store.tasks.one(wave.task)
    pools = task.spec.outputs if task else ()
    numbers = {each.p: each.n for each in pieces.values()}
    for each in ended:
        if task is None or not pools or each.state is not PieceState.COMPLETED:
            yield each
            continue
        left = _left(keeper, job, numbers[each.p])
        why = streams.missing(pools, [output.name for output in left])
        if why:
            yield Ended(each.p, PieceState.FAILED, why, Kind.NOT_BROUGHT)
            continue
        if not _bring(keeper, task, each.p, left, fix_of(keeper.store, wave, numbers[each.p])):
            yield each


def _bring(keeper: Keeper, task: Task, p: int, left: list[Brought], fix: int) -> bool:
    """Record what a piece has left; tell whether a worker has to read more of it before the piece is completed."""
    known = {each.name: each for each in left}
    reads = False
    for stream in task.spec.outputs:
        found = [known[name] for name in streams.files_of(stream, known)]
        keeper.store.outputs.bring(task.id, p, stream.name, found, todo_of(stream), fix)
        reads |= bool(found and stream.about)
    return reads


def todo_of(stream: OutputSpec, *, is_read: bool = False) -> Todo:
    """Return what a worker has to do with an output."""
    if stream.about and not is_read:
        return Todo.READ
    return Todo.STORE if stream.store else Todo.NOTHING


def record_of(keeper: Keeper, grid: int, n: int) -> ExitRecord | None:
    """Return the exit record of the last attempt of a local job."""
    last = keeper.store.last_run(grid, n)
    return read_exit_record(last.record) if last else None


def place_of(keeper: Keeper, job: GridJob, n: int) -> Path:
    """Return the directory in which the last attempt of a local job has worked."""
    last = keeper.store.last_run(job.id, n)
    k, idx = (last.k, last.idx) if last else (0, 0)
    return submission_directory(keeper.site.work / (job.place or str(job.id)), k) / f"run.{idx}"


def _left(keeper: Keeper, job: GridJob, n: int) -> list[Brought]:
    record, place = record_of(keeper, job.id, n), place_of(keeper, job, n)
    files = record.files if record else ()
    return [Brought(each.name, str(place / each.name), each.sha256, each.size) for each in files]

"""Recovers failed pieces: new pieces do exactly their work, cut smaller or with other attributes, and go first.

A worker asks the splitter. The loop stores what it made only if each piece is still failed with the same attempt; else
the pieces are made anew.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from jim.errand import Errand
from jim.errors import JimError, UnknownJob, as_fault
from jim.model import Kind
from jim.site.file import Site
from jim.splitting.checked_values import whole
from jim.splitting.errors import InvalidParameter
from jim.splitting.files_and_jobs import SplitJob, jobs_in
from jim.splitting.recovery import document_of, recovery_from
from jim.splitting.subscription import Subscription
from jim.statusdb.store import Store
from jim.statusdb.task_rows import Ended, Item, NewPiece, Part, PieceRow, PieceState, Task, TaskState
from jim.statusdb.task_spec import Split
from jim.tasks.effects import TaskVerb, given_up, need_new, to_retry
from jim.tasks.frozen_local_jobs import FAILED, freeze
from jim.tasks.keeping import Keeper
from jim.tasks.pieces.cutting import job_of, names_of, piece_of
from jim.tasks.pool.pooling import STALE
from jim.tasks.unexpected_errors import in_words, start
from jim.work.splitters import find, jobs_of, parameters

log = logging.getLogger(__name__)
PER_PIECE = "events_per_piece"  # the parameter by which failed ranges of events are cut
Failed = tuple[PieceRow, Mapping[int, Item], tuple[Part, ...]]


class Made(NamedTuple):
    """What a worker made of failed pieces, and which these were."""

    asked: str
    print: tuple[tuple[int, ...], ...]  # piece, wave, local job, number of items of each
    pieces: Sequence[NewPiece]
    trouble: str = ""


class Recoveries:
    """New pieces that workers have made for wishes that wait."""

    def __init__(self) -> None:
        self._made: dict[int, Made] = {}

    def has_pieces(self, keeper: Keeper, task: Task, content: Mapping[str, Any]) -> bool:
        """Let a worker make the pieces; tell whether the wish can be taken now."""
        key = ("task recover", task.id)
        if keeper.workers.busy(("task plan", task.id)) or keeper.workers.busy(key):
            return False
        asked, failed = repr(sorted(content.items())), failed_of(keeper.store, task)
        if content["verb"] == TaskVerb.RETRY:
            only = need_new(keeper.store, task, to_retry(keeper.store, task, content))
            failed = [each for each in failed if each[0].p in only]
        made = self._made.get(task.id)
        if made and (made.asked, made.print) == (asked, print_of(failed)):
            return True
        work = partial(_make, task, content, asked, failed, keeper.site)
        keeper.workers.forget(key)
        start(keeper, task, Errand(key, work, partial(self._keep, task.id), source=True))
        return False

    def _keep(self, task: int, made: Made) -> None:
        self._made[task] = made

    def recover(self, keeper: Keeper, task: Task) -> str:
        """Replace the failed pieces by the new ones, in the transaction of the wish."""
        made = self._made.pop(task.id)
        if made.trouble:
            return f"nothing is recovered: {made.trouble}"
        numbers = [p for p, *_ in made.print]
        if not numbers:
            return "nothing has failed"
        successors = successors_of(
            {p: keeper.store.pieces.parts_of(task.id, p) for p in numbers}, made.pieces, task.next_piece
        )
        pieces = [each for each in (keeper.store.pieces.one(task.id, p) for p in numbers) if each]
        for each in pieces:
            freeze(keeper, each, "other pieces do its work")
        keeper.store.pieces.drop_unplanned(task.id)
        keeper.store.pieces.move(task.id, [Ended(each.p, PieceState.REPLACED, each.reason) for each in pieces])
        keeper.store.pieces.add(task.id, task.next_piece, made.pieces, turn=0)
        items = {part.item for piece in made.pieces for part in piece.parts}
        keeper.store.pieces.end_plan(task.id, task.next_piece + len(made.pieces), items)
        keeper.store.promises.move_promises(task.id, successors)
        # New pieces read what is there now.
        stale = [each.id for each in keeper.store.pools.items(task.id, items).values() if each.note == STALE]
        keeper.store.pools.set_items(stale, note="")
        if task.state is TaskState.FINISHED:
            keeper.store.tasks.change(
                task.id, state=TaskState.RUNNING, outcome="", reason="failed pieces are recovered"
            )
        log.info("task %s: %d failed pieces are replaced by %d", task.name, len(numbers), len(made.pieces))
        were = "failed piece is" if len(numbers) == 1 else "failed pieces are"
        return f"{len(numbers):,} {were} replaced by {len(made.pieces):,}"


def successors_of(old: Mapping[int, Sequence[Part]], new: Sequence[NewPiece], first: int) -> dict[int, list[int]]:
    """Return which new pieces do the work of each replaced one; what does that of several belongs to the first."""
    by_item: dict[int, list[tuple[int, Part]]] = {}
    for p, parts in old.items():
        for part in parts:
            by_item.setdefault(part.item, []).append((p, part))
    found: dict[int, list[int]] = {p: [] for p in old}
    for number, piece in enumerate(new, first):
        of = (p for part in piece.parts for p, each in by_item.get(part.item, ()) if _share(each, part))
        if (owner := next(of, None)) is not None:
            found[owner].append(number)
    return found


def _share(one: Part, other: Part) -> bool:
    """Tell whether two parts of an item have events in common, as far as they say which."""
    if one.first_event is None or other.first_event is None or one.last_event is None or other.last_event is None:
        return one.run == other.run or one.run is None or other.run is None
    return one.first_event <= other.last_event and other.first_event <= one.last_event


def failed_of(store: Store, task: Task) -> list[Failed]:
    """Return the failed pieces of a task that nobody tries again just now, with those items and parts that matter."""
    grids = {each.w: each.grid for each in store.waves.all(task.id) if not each.t}
    found = (
        (each, store.pools.items(task.id, each.record.get("files", ())), tuple(store.pieces.parts_of(task.id, each.p)))
        for each in store.pieces.failed(task.id)
        if each.kind is Kind.NOT_BROUGHT or _is_failed(store, grids.get(each.wave, 0), each.n)
    )
    return [wanted for each in found if (wanted := _without_given_up(store, *each))]


def _without_given_up(
    store: Store, piece: PieceRow, items: Mapping[int, Item], parts: tuple[Part, ...]
) -> Failed | None:
    """Leave out the items that a person has given up, or that are not kept; none: nothing is left of the piece."""
    dropped = given_up(store, piece, items)
    if dropped and dropped == items.keys():
        return None
    if not dropped or "first_event" in piece.record["mask"]:  # events are counted over all files of the piece
        return piece, items, parts
    record = {**piece.record, "files": [each for each in piece.record["files"] if each not in dropped]}
    kept = {number: each for number, each in items.items() if number not in dropped}
    return piece._replace(record=record), kept, tuple(each for each in parts if each.item not in dropped)


def _is_failed(store: Store, grid: int, n: int) -> bool:
    """Tell whether a local job is failed: a retry may have been faster than what is followed."""
    try:
        return not grid or store.grid_job(grid).size == 0 or store.state(grid, n) in FAILED
    except UnknownJob:  # its grid job was removed
        return True


def print_of(failed: Sequence[Failed]) -> tuple[tuple[int, ...], ...]:
    """Return what tells that the same pieces are failed by the same local jobs, and have the same files left."""
    return tuple((each.p, each.wave, each.n, len(items)) for each, items, _ in failed)


def _make(task: Task, content: Mapping[str, Any], asked: str, failed: Sequence[Failed], site: Site) -> Made:
    try:
        with as_fault():  # else the wish would wait for ever
            pieces = list(cut_again(task.spec.split, failed, content, site))
    except (JimError, OSError) as error:
        return Made(asked, print_of(failed), (), in_words(task, error))
    lost = {part.item for *_, parts in failed for part in parts} - {part.item for each in pieces for part in each.parts}
    trouble = f"the splitter makes no piece of {len(lost)} of the items" if lost else ""
    return Made(asked, print_of(failed), pieces, trouble)


def cut_again(split: Split, failed: Sequence[Failed], content: Mapping[str, Any], site: Site) -> Iterator[NewPiece]:
    """Yield the pieces that do the work of failed ones; items of two groups are never mixed."""
    given, changes = content.get("parameters", {}), content.get("attributes", {})
    for grp, those in groupby(sorted(failed, key=_group), key=_group):
        rows = list(those)
        pieces = _ranges(rows, given) if split.splitter is None else _files(split, rows, given, site)
        for each in pieces:
            record = {**each.record, "changes": changes} if changes else each.record
            yield NewPiece(grp, record, each.parts)


def _group(failed: Failed) -> str:
    return failed[0].grp


def _ranges(failed: Sequence[Failed], given: Mapping[str, Any]) -> Iterator[NewPiece]:
    """Cut failed ranges of events again, into smaller ones if that is said."""
    for piece, _, (part,) in failed:
        first, count = piece.record["events"]
        size = whole(1).of(given.get(PER_PIECE, count), PER_PIECE, InvalidParameter)
        for begin in range(first, first + count, size):
            number = min(size, first + count - begin)
            yield NewPiece(piece.grp, {"events": [begin, number]}, (Part(part.item, begin, begin + number - 1),))


def _files(split: Split, failed: Sequence[Failed], given: Mapping[str, Any], site: Site) -> Iterator[NewPiece]:
    module = find(split.by, site.site.handlers)
    checked = parameters(module, {**split.parameters, **given})
    every = {number: each for _, items, _ in failed for number, each in items.items()}
    names = names_of(every.values())
    jobs: list[SplitJob] = [job_of(piece.record, items, names, site, 0.0) for piece, items, _ in failed]
    known = {names[number]: each for number, each in every.items()}
    files = {file.lfn: file for job in jobs for file in job.files}
    storages = {each: (each,) for file in files.values() for each in file.locations}
    recovery = recovery_from({"documents": [document_of(job) for job in jobs]})
    work = Subscription(tuple(files.values()), open=False, storage_to_sites=storages, recovery=recovery)
    yield from (piece_of(job, known) for job in jobs_in(jobs_of(module, work, checked)))

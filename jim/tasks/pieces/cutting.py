"""Cuts items into pieces: ranges of events by their number, files by a splitter. Nothing here stores anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from jim.site.file import Site
from jim.splitting.files_and_jobs import File, Mask, Settled, SplitJob, events_in
from jim.splitting.subscription import Subscription
from jim.statusdb.task_rows import Item, ItemState, NewPiece, Part
from jim.statusdb.task_spec import Split
from jim.work.splitters import find, jobs_of, parameters

NUMBER, DIGITS = re.compile(r"(?<=[/.])\d+"), 7  # in the name of an output of another task, such as gen/17


class Cut(NamedTuple):
    """What a splitter made of the items of a group."""

    pieces: list[NewPiece]
    settled: dict[str, list[int]]  # items that need no piece, by their new state


class Pool(NamedTuple):
    """What a splitter is told of a pool besides its items."""

    open: bool  # more items of this group may come
    jobs_before: int
    now: float  # seconds since 1970
    limit: float = 0.0  # so long an item waits for others, in seconds; 0: for ever


# Events


def ranges(item: Item, most: int) -> Iterator[NewPiece]:
    """Yield the next pieces of a range of events."""
    first, events, per_piece = (item.record[name] for name in ("first", "events", "per_piece"))
    upto = item.upto
    for _ in range(most):
        if upto >= events:
            return
        count = min(per_piece, events - upto)
        begin = first + upto
        yield NewPiece(item.grp, {"events": [begin, count]}, (Part(item.id, begin, begin + count - 1),))
        upto += count


def end_of(item: Item, pieces: Sequence[NewPiece]) -> int:
    """Return how many events of a range are in pieces, with these."""
    return item.upto + sum(int(piece.record["events"][1]) for piece in pieces)


# Files


def lfn_of(item: Item) -> str:
    """Return the name that payloads are given: of an output of another task, its path once it is there.

    Before, such items sort by their names as the pieces that bring them are numbered: gen/9 comes before gen/10.
    """
    if item.there < 1:
        return NUMBER.sub(lambda found: found[0].zfill(DIGITS), item.name)
    return str(item.record.get("lfn", item.name))


def names_of(items: Iterable[Item]) -> dict[int, str]:
    """Return what a splitter calls each item: two items of one file must not be taken for one another."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for each in items:
        name = lfn_of(each)
        while name in taken:
            name = f"{name}#{each.id}"
        taken.add(name)
        names[each.id] = name
    return names


def file_of(item: Item, name: str, here: frozenset[str], now: float) -> File:
    """Return an item as a splitter sees it. A file without locations is at this site."""
    facts = {fact: value for fact, value in item.record.items() if fact != "variables"}
    file = File.from_record({"size": item.size, **facts, "lfn": name})
    return file._replace(locations=file.locations or here, age_s=max(0.0, now - item.since))


def cut(split: Split, items: Sequence[Item], pool: Pool, site: Site) -> Cut:
    """Let a splitter make pieces of the available items of one group.

    Where an item has waited for too long, what still waits at its place is cut as if nothing more would come.
    """
    made = Cut([], {}) if pool.open and split.when == "closed" else _cut(split, items, pool, site)
    overdue = _overdue(items, made, pool)
    if not overdue:
        return made
    more = _cut(split, overdue, pool._replace(open=False, jobs_before=pool.jobs_before + len(made.pieces)), site)
    settled = {state: made.settled.get(state, []) + those for state, those in more.settled.items()}
    return Cut(made.pieces + more.pieces, made.settled | settled)


def _overdue(items: Sequence[Item], made: Cut, pool: Pool) -> list[Item]:
    """Return the items that wait at a place where one of them has waited for too long."""
    if not (pool.open and pool.limit):
        return []
    used = {part.item for piece in made.pieces for part in piece.parts}.union(*made.settled.values())
    waiting = [each for each in items if each.id not in used]
    old = [each for each in waiting if each.state is ItemState.AVAILABLE and pool.now - each.since >= pool.limit]
    places = {_place(each) for each in old}
    return [each for each in waiting if _place(each) in places]


def _place(item: Item) -> frozenset[str]:
    return frozenset(item.record.get("locations", ()))


def _cut(split: Split, items: Sequence[Item], pool: Pool, site: Site) -> Cut:
    module = find(split.by, site.site.handlers)
    checked = parameters(module, split.parameters)
    here, names = frozenset((site.site.name,)), names_of(items)
    known = {names[each.id]: each for each in items}
    files = tuple(file_of(each, names[each.id], here, pool.now) for each in items)
    storages = {each: (each,) for file in files for each in file.locations}
    work = Subscription(
        files,
        open=pool.open,
        injected=not pool.open,  # a group is planned by itself
        storage_to_sites=storages,
        jobs_before=pool.jobs_before,
        now=pool.now,
    )
    made, settled = _sorted_out(jobs_of(module, work, checked), known)
    full = getattr(module, "full", None)
    if pool.open and full and split.when == "full":
        apart = getattr(checked, "apart", _nothing)
        groups = groupby(made, key=lambda job: (job.group, apart(job)))
        last = [list(group)[-1] for _, group in groups]
        made = _without_rest(made, [job for job in last if not full(job, checked)])
    return Cut([piece_of(job, known) for job in made], settled)


def _sorted_out(
    stream: Iterable[SplitJob | Settled], known: Mapping[str, Item]
) -> tuple[list[SplitJob], dict[str, list[int]]]:
    made: list[SplitJob] = []
    settled: dict[str, list[int]] = {}
    for each in stream:
        if isinstance(each, SplitJob):
            made.append(each)
        else:
            settled.setdefault(each.state, []).extend(known[file.lfn].id for file in each.files)
    return made, settled


def _nothing(_job: SplitJob) -> None:
    """Say that jobs of one group are filled one after the other, by most splitters."""


def _without_rest(made: list[SplitJob], tails: list[SplitJob]) -> list[SplitJob]:
    """Give back the jobs that are not full, and those that share files with them: the rest is cut as a whole."""
    kept, rest = [job for job in made if job not in tails], {file.lfn for job in tails for file in job.files}
    while rest and (shared := [job for job in kept if any(file.lfn in rest for file in job.files)]):
        rest.update(file.lfn for job in shared for file in job.files)
        kept = [job for job in kept if job not in shared]
    return kept


def piece_of(job: SplitJob, known: Mapping[str, Item]) -> NewPiece:
    """Return a job as a piece of a task."""
    items = [known[each.lfn] for each in job.files]
    record = job.to_record() | {"files": [each.id for each in items]}
    return NewPiece(items[0].grp if items else "", record, tuple(_parts(job, items)))


def _parts(job: SplitJob, items: Sequence[Item]) -> Iterator[Part]:
    """Return which part of each item a piece may process."""
    mask = job.mask
    if mask.run_lumis is not None:
        for item, file in zip(items, job.files, strict=True):
            yield from _lumis(item.id, file, mask)
        return
    if mask.first_event is None:
        yield from (Part(each.id) for each in items)
        return
    for item, (first, count) in zip(items, events_in(job.files, mask), strict=True):
        yield Part(item.id, first, first + count - 1)


def _lumis(item: int, file: File, mask: Mask) -> Iterator[Part]:
    """Return the ranges of lumis of a file that a mask allows; of a file without runs, all that the mask says."""
    runs = {run for run, _ in file.runs}
    for run, those in (mask.run_lumis or {}).items():
        if not runs or run in runs:
            yield from (Part(item, None, None, first, last, run) for first, last in those)


def job_of(
    record: Mapping[str, Any], items: Mapping[int, Item], names: Mapping[int, str], site: Site, now: float
) -> SplitJob:
    """Return the job that a stored piece is, with the facts that its files have now, under these names."""
    here = frozenset((site.site.name,))
    files = {names[number]: file_of(each, names[number], here, now) for number, each in items.items()}
    named = {**record, "files": [names[number] for number in record["files"]]}
    return SplitJob.from_record(named, files)

"""Merging of small files: collects units, which are never divided, until they are large enough for a job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jim.splitting.checked_values import whole
from jim.splitting.files_and_jobs import File
from jim.splitting.parameters import Common, parameter
from jim.splitting.subscription import Subscription


@dataclass(frozen=True)
class MergeParameters(Common):
    """The parameters of splitters that merge."""

    max_merge_size: int = parameter(1_000_000_000, whole(1), "maximum bytes of a job")
    min_merge_size: int = parameter(1_048_576, whole(), "minimum bytes of a job that can still wait for more files")


class Unit(NamedTuple):
    """Files that are merged together. Units are ordered by the first fields."""

    run: int
    lumi: int
    name: str
    files: tuple[File, ...]
    size: int
    events: int
    old: bool = False  # the unit has waited too long: it is merged with all units that wait with it

    @classmethod
    def of(cls, name: str, files: Sequence[File], *, old: bool = False) -> Unit:
        """Make a unit; its first file decides where the unit belongs."""
        run, lumi = place(files[0])
        return cls(
            run, lumi, name, tuple(files), sum(each.size for each in files), sum(each.events for each in files), old
        )


def place(file: File) -> tuple[int, int]:
    """Return the lowest run and the lowest lumi of a file."""
    return file.lowest_run or 0, min((lumis[0] for _, lumis in file.runs if lumis), default=0)


def is_forced(work: Subscription) -> bool:
    """Tell whether no more files will come, so that all the rest must be merged."""
    return work.injected and not work.open


def merged(units: Iterable[Unit], p: MergeParameters, max_events: int, *, forced: bool) -> Iterator[list[Unit]]:
    """Collect units in the given order. While too little is collected, a unit that does not fit is passed over."""
    collected: list[Unit] = []
    size = events = 0
    any_old = False
    for unit in units:
        if unit.size > p.max_merge_size or unit.events > max_events:
            yield [unit]
            continue
        if size + unit.size > p.max_merge_size or events + unit.events > max_events:
            if not (size > p.min_merge_size or forced or unit.old):
                continue
            yield collected
            collected, size, events = [], 0, 0
        collected.append(unit)
        size, events, any_old = size + unit.size, events + unit.events, any_old or unit.old
    if collected and (size > p.min_merge_size or forced or any_old):
        yield collected

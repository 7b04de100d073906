"""Merging small files: units that stay whole, collected until they are enough and not yet too much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jim.splitting.kinds import whole
from jim.splitting.parameters import Common, parameter
from jim.splitting.subscription import Subscription
from jim.splitting.units import File


@dataclass(frozen=True)
class MergeParameters(Common):
    """What merging takes."""

    max_merge_size: int = parameter(1_000_000_000, whole(1), "most bytes of one job")
    min_merge_size: int = parameter(1_048_576, whole(), "a job has more bytes than this, if it can wait for them")


class Unit(NamedTuple):
    """Files that are merged together; their order among other units comes first."""

    run: int
    lumi: int
    name: str
    files: tuple[File, ...]
    size: int
    events: int
    old: bool = False  # it has waited long enough, and all that waits with it

    @classmethod
    def of(cls, name: str, files: Sequence[File], *, old: bool = False) -> Unit:
        """Make a unit; the first of its files that was found says where it belongs."""
        run, lumi = place(files[0])
        return cls(
            run, lumi, name, tuple(files), sum(each.size for each in files), sum(each.events for each in files), old
        )


def place(file: File) -> tuple[int, int]:
    """Give the lowest run and the lowest lumi that a file holds."""
    return file.lowest_run or 0, min((lumis[0] for _, lumis in file.runs if lumis), default=0)


def is_forced(work: Subscription) -> bool:
    """Nothing more will come: whatever there is must be merged."""
    return work.injected and not work.open


def merged(units: Iterable[Unit], p: MergeParameters, max_events: int, *, forced: bool) -> Iterator[list[Unit]]:
    """Collect units in the order given. One that does not fit is passed over while what is collected is too little."""
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

"""The ids that people use: a grid job, one of its local jobs, or a slice of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from jim.errors import UnknownJob
from jim.splitting.lumi_ranges import joined

_NUMBER, _SLICE = r"\d{1,15}", r"\d{1,9}(?:-\d{1,9})?"
_TARGET = re.compile(rf"({_NUMBER})(?:\.({_SLICE}(?:,{_SLICE})*))?", re.ASCII)
LONGEST = 10_000


class Target(NamedTuple):
    """A grid job and some of its local jobs: sorted slices without overlap, both ends included; () means all."""

    grid_job: int
    slices: tuple[tuple[int, int], ...] = ()

    def __contains__(self, n: object) -> bool:
        return isinstance(n, int) and (not self.slices or any(first <= n <= last for first, last in self.slices))

    def numbers(self, size: int) -> Iterator[int]:
        """Return the numbers of the local jobs in a grid job of this size; refuse a number that it does not have."""
        last = self.slices[-1][1] if self.slices else size - 1
        if last >= size:
            raise UnknownJob(f"there is no local job {self.grid_job}.{last}: {_has(self.grid_job, size)}")
        for first, last in self.slices or ((0, size - 1),):
            yield from range(first, last + 1)

    def __str__(self) -> str:
        parts = [str(first) if first == last else f"{first}-{last}" for first, last in self.slices]
        return f"{self.grid_job}.{','.join(parts)}" if parts else str(self.grid_job)


def parse(text: str) -> Target:
    """Read `G`, `G.3`, `G.1-4` (both ends included), `G.3,5` or `G.1-4,7`."""
    found = _TARGET.fullmatch(text) if len(text) <= LONGEST else None
    if not found:
        shown = text if len(text) <= 80 else f"{text[:79]}…"
        raise UnknownJob(
            f"{shown!r} is not an id: a grid job has a number such as 12, local jobs have names such as 12.3, "
            "12.1-4 or 12.3,5"
        )
    slices = [_slice(text, part) for part in found[2].split(",")] if found[2] else []
    return Target(int(found[1]), tuple(joined(slices)))


def _slice(text: str, part: str) -> tuple[int, int]:
    first, _, last = part.partition("-")
    if last and int(last) < int(first):
        raise UnknownJob(f"{text!r}: {part} ends before it begins; use {last}-{first}")
    return int(first), int(last or first)


def _has(grid_job: int, size: int) -> str:
    return f"{grid_job} has {grid_job}.0 to {grid_job}.{size - 1}" if size else f"{grid_job} has no local jobs"

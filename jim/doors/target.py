"""The ids that people use: a grid job, one of its local jobs, or a slice of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from jim.errors import UnknownJob
from jim.splitting.lumi_ranges import joined

_NUMBER, _SLICE = r"\d{1,15}", r"\d{1,9}(?:-\d{1,9})?"
_TARGET = re.compile(rf"({_NUMBER})(?:\.({_SLICE}(?:,{_SLICE})*))?", re.ASCII)
# Counted from the end (-1 is the last one), or open: up to the last one. Only the size tells which these are.
_RELATIVE = re.compile(rf"({_NUMBER})\.([\d,-]*(?:(?<![\d])-\d|\d-(?![\d-]))[\d,-]*)", re.ASCII)
_PART = re.compile(r"(-?\d{1,9})(?:(-)(-?\d{1,9})?)?", re.ASCII)
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


def is_relative(text: str) -> bool:
    """Tell whether an id counts local jobs from the end, such as `G.-1`, or names all from one on, such as `G.5-`."""
    return len(text) <= LONGEST and _RELATIVE.fullmatch(text) is not None


def absolute(text: str, size: int) -> str:
    """Return a relative id with the numbers of local jobs in a grid job of this size: `G.-1` of 10 is `G.9`."""
    found = _RELATIVE.fullmatch(text)
    if not found:
        return text
    if not size:
        raise UnknownJob(f"{text!r}: {found[1]} has no local jobs yet, so nobody knows which one is the last")
    return f"{found[1]}.{','.join(_absolute(text, part, size) for part in found[2].split(','))}"


def _absolute(text: str, part: str, size: int) -> str:
    found = _PART.fullmatch(part)
    if not found:
        raise UnknownJob(
            f"{text!r}: {part!r} is no slice; such as 3, 1-4, 5- (from 5 on), -1 (the last), -3- (the last 3)"
        )
    ends = [int(each) for each in (found[1], found[3] or ("-1" if found[2] else "")) if each]
    counted = [each + size if each < 0 else each for each in ends]
    if not all(0 <= each < size for each in counted):
        raise UnknownJob(f"{text!r}: {part} is not among the local jobs: {_has(int(text.partition('.')[0]), size)}")
    return "-".join(map(str, counted))


def _slice(text: str, part: str) -> tuple[int, int]:
    first, _, last = part.partition("-")
    if last and int(last) < int(first):
        raise UnknownJob(f"{text!r}: {part} ends before it begins; use {last}-{first}")
    return int(first), int(last or first)


def _has(grid_job: int, size: int) -> str:
    return f"{grid_job} has {grid_job}.0 to {grid_job}.{size - 1}" if size else f"{grid_job} has no local jobs"

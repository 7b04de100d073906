"""Lumis as ranges, and masks made of ranges: which lumis of which runs a job may process."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence

from jim.splitting.files_and_jobs import Range


def ranges_of(lumis: Sequence[int]) -> list[Range]:
    """Join ascending lumis without repetition into ranges."""
    if not lumis:
        return []
    if lumis[-1] - lumis[0] == len(lumis) - 1:  # the usual case: no gap
        return [(lumis[0], lumis[-1])]
    ranges = []
    first = last = lumis[0]
    for lumi in lumis[1:]:
        if lumi != last + 1:
            ranges.append((first, last))
            first = lumi
        last = lumi
    return [*ranges, (first, last)]


def joined(ranges: Iterable[Range]) -> list[Range]:
    """Join ranges that overlap or touch, and sort them."""
    found: list[Range] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found


class LumiMask:
    """The lumis that may be processed; none of a run that the mask does not name."""

    def __init__(self, ranges: Mapping[int, Iterable[Range]]) -> None:
        self.ranges = {run: joined(one) for run, one in ranges.items()}

    def within(self, run: int, lumis: Sequence[int]) -> Sequence[int]:
        """Return those of ascending lumis that the mask has."""
        parts = [lumis[bisect_left(lumis, a) : bisect_right(lumis, b)] for a, b in self.ranges.get(run, ())]
        return parts[0] if len(parts) == 1 else [lumi for part in parts for lumi in part]

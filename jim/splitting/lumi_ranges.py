"""Lumis as ranges, and masks made of them: which lumis of which runs may be processed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence

from jim.splitting.units import Range


def ranges_of(lumis: Sequence[int]) -> list[Range]:
    """Join ascending lumis, each there once, into ranges."""
    if not lumis:
        return []
    if lumis[-1] - lumis[0] == len(lumis) - 1:  # no gap, as nearly always
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
    """Join ranges that overlap or touch, and put them in order."""
    found: list[Range] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found


class LumiMask:
    """Which lumis may be processed; a run that it does not name has none."""

    def __init__(self, ranges: Mapping[int, Iterable[Range]]) -> None:
        self.ranges = {run: joined(one) for run, one in ranges.items()}

    def within(self, run: int, lumis: Sequence[int]) -> Sequence[int]:
        """Give those of ascending lumis that are in the mask."""
        parts = [lumis[bisect_left(lumis, a) : bisect_right(lumis, b)] for a, b in self.ranges.get(run, ())]
        return parts[0] if len(parts) == 1 else [lumi for part in parts for lumi in part]

"""The local jobs of a wish: slices of a grid job, both ends included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jim.jobs import LocalJob
from jim.statusdb.store import Store

Slices = Sequence[tuple[int, int]]


def chosen(store: Store, grid: int, slices: Slices) -> Iterator[LocalJob]:
    """Yield the local jobs in these slices."""
    for first, last in slices:
        for n in range(first, last + 1):
            yield store.local_job(grid, n)


def meet(some: Slices, others: Slices) -> bool:
    """Tell whether two sets of slices share a local job; no slices means all local jobs."""
    if not some or not others:
        return True
    return any(first <= end and begin <= last for first, last in some for begin, end in others)

"""The local jobs that a wish names: slices of a grid job, both ends included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jim.jobs import LocalJob
from jim.statusdb.contract import Store

Slices = Sequence[tuple[int, int]]


def chosen(store: Store, grid: int, slices: Slices) -> Iterator[LocalJob]:
    """Give the local jobs that slices name."""
    for first, last in slices:
        for n in range(first, last + 1):
            yield store.local_job(grid, n)


def meet(some: Slices, others: Slices) -> bool:
    """Tell whether slices have a local job in common; none means all."""
    if not some or not others:
        return True
    return any(first <= end and begin <= last for first, last in some for begin, end in others)

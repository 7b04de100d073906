"""Splits events into consecutive ranges, numbered from 1. The last range has the remainder, or all are about equal."""

from __future__ import annotations

from collections.abc import Iterator

from jim.model import Piece


def by_events(events: int, per_piece: int, *, balanced: bool = False) -> Iterator[Piece]:
    """Split `events` into as few ranges of at most `per_piece` as possible; balanced ones differ by at most one."""
    count, first = -(-events // per_piece), 1
    for n in range(1, count + 1):
        last = events * n // count if balanced else min(per_piece * n, events)
        yield Piece(first_event=first, events=last - first + 1)
        first = last + 1

"""Ranges of consecutive events, numbered from 1; the last one has the remainder."""

from __future__ import annotations

from collections.abc import Iterator

from jim.model import Piece


def by_events(events: int, per_piece: int) -> Iterator[Piece]:
    """Cut `events` into ranges of `per_piece`."""
    for first in range(1, events + 1, per_piece):
        yield Piece(first_event=first, events=min(per_piece, events - first + 1))

"""Splitters: pure functions from work and parameters to a stream of pieces."""

from __future__ import annotations

from collections.abc import Iterator

from jim.handlers.base import Work
from jim.model import Piece
from jim.splitting.by_events import by_events


def split(work: Work, events_per_job: int, *, balanced: bool = False) -> Iterator[Piece]:
    """Cut the work: pieces that are already there as they are, events into ranges."""
    return by_events(work.events, events_per_job, balanced=balanced) if work.events else iter(work.pieces)

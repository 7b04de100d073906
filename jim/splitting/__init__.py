"""Splitters: pure functions that turn work and parameters into a stream of pieces."""

from __future__ import annotations

from collections.abc import Iterator

from jim.handlers.base import Work
from jim.model import Piece
from jim.splitting.by_events import by_events


def split(work: Work, events_per_job: int, *, balanced: bool = False) -> Iterator[Piece]:
    """Split the work: return pieces that the job type has made, or split events into ranges."""
    return by_events(work.events, events_per_job, balanced=balanced) if work.events else iter(work.pieces)

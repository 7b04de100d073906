"""Reads the attempts at a piece of a task: in the wave that has it, and in those that a pause has ended before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from jim.errors import JimError, UnknownJob
from jim.evidence.exit_record import ExitRecord, read_exit_record
from jim.jobs import Attempt
from jim.reading.quantities import number
from jim.reading.view import View
from jim.statusdb.task_rows import PieceRow


class AttemptSeen(NamedTuple):
    """One attempt at a piece."""

    wave: int
    local_job: str
    attempt: int
    host: str
    started: str
    verdict: str  # empty: it has none yet
    ended: str  # when it got its verdict
    seconds: float | None  # that its payload took
    memory_mb: int | None  # the most that was seen in use
    reason: str
    asked: dict[str, Any]  # the resources that it was sent with


def attempts(view: View, piece: PieceRow) -> list[AttemptSeen]:
    """Return the attempts at a piece, the first one first; those of removed grid jobs are not known any more."""
    waves = view.store.seen_tasks.released_before(piece.task, piece.p) if piece.attempts else []
    wave = view.store.waves.one(piece.task, piece.wave) if piece.wave else None
    waves += [(wave.w, wave.grid, piece.n)] if wave and wave.grid else []
    return [each for w, grid, n in waves for each in _of_local_job(view, w, grid, n)]


def _of_local_job(view: View, w: int, grid: int, n: int) -> Iterator[AttemptSeen]:
    with suppress(UnknownJob):
        for each in sorted(view.store.attempts(grid, n=n), key=lambda row: row.attempt):
            yield _seen(view, w, each)


def _seen(view: View, w: int, row: Attempt) -> AttemptSeen:
    record = exit_record(row.record)
    sent = view.store.submission(row.grid, row.k)
    return AttemptSeen(
        wave=w,
        local_job=f"{row.grid}.{row.n}",
        attempt=row.attempt,
        host=row.host,
        started=row.started,
        verdict=row.verdict,
        ended=row.updated if row.verdict else "",
        seconds=record.seconds if record else None,
        memory_mb=record.peak_mb if record else None,
        reason=row.reason,
        asked=dict(sent.asked) if sent else {},
    )


def exit_record(text: str) -> ExitRecord | None:
    """Return what an exit record says; None: there is none, or it cannot be read."""
    with suppress(JimError):
        return read_exit_record(text) if text else None
    return None


def used_in_words(attempt: AttemptSeen) -> str:
    """Return how long the payload of an attempt ran, and how much memory was seen in use."""
    parts = [f"{number(attempt.seconds)} s"] if attempt.seconds is not None else []
    return ", ".join([*parts, *([f"{attempt.memory_mb:,} MB"] if attempt.memory_mb is not None else [])])

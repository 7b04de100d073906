"""Splitting the work of a job type."""

from __future__ import annotations

from jim.handlers.base import Work
from jim.model import Piece
from jim.splitting import split


def test_events_become_ranges_and_finished_pieces_stay_as_they_are():
    assert list(split(Work(events=5), 2)) == [Piece(1, 2), Piece(3, 2), Piece(5, 1)]
    assert list(split(Work(events=5), 4, balanced=True)) == [Piece(1, 2), Piece(3, 3)]
    pieces = (Piece(arguments=("a",)), Piece(arguments=("b",)))
    assert list(split(Work(pieces=pieces), 2)) == list(pieces)

"""The form of a piece as text in any database."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jim.model import Piece

as_json = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode
_EMPTY: tuple[Any, ...] = Piece()


def pieces_text(pieces: Mapping[int, Piece]) -> str:
    """Write pieces by their numbers; each is a list without the empty fields at its end."""
    return as_json({n: _shortened(piece) for n, piece in pieces.items()})


def _shortened(piece: Piece) -> tuple[Any, ...]:
    last = len(piece) if piece[6:] != _EMPTY[6:] else 6  # most have no further fields, and there may be a million
    while last > 2 and piece[last - 1] == _EMPTY[last - 1]:
        last -= 1
    return piece[:last]


def pieces_as_lists(pieces: Iterable[Piece]) -> list[list[Any]]:
    """Return pieces as plain values, as a task hands them in."""
    return [json.loads(as_json(_shortened(piece))) for piece in pieces]


def pieces_in(records: Iterable[list[Any]]) -> Iterator[Piece]:
    """Read pieces that a task has handed in."""
    return map(_piece, records)


def piece_of(text: str) -> Piece:
    """Read a stored piece; older forms are a table, or have arguments outside a list of their own."""
    return _piece(json.loads(text))


def _piece(stored: Any) -> Piece:
    if isinstance(stored, dict):
        stored = list(Piece(**stored))
    elif len(stored) > 2 and isinstance(stored[2], str):
        stored[2:] = [stored[2:]]
    first, events, arguments, files, *rest = stored + list(_EMPTY[len(stored) :])
    return Piece(first, events, tuple(arguments), tuple(files), *rest)

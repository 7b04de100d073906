"""Pieces as text in a database."""

from __future__ import annotations

import pytest

from jim.model import Piece
from jim.statusdb import pieces
from jim.statusdb.store import Store

MASK = {"first_event": 1, "last_event": 5}


@pytest.mark.parametrize(
    ("piece", "text"),
    [
        (Piece(), "[null,null]"),
        (Piece(first_event=251, events=250), "[251,250]"),
        (Piece(arguments=("",)), '[null,null,[""]]'),
        (Piece(1, 2, ("a b", '"\\', "\té\x7f\ud800")), '[1,2,["a b","\\"\\\\","\\t\\u00e9\\u007f\\ud800"]]'),
        (Piece(files=("/a",), mask=MASK), '[null,null,[],["/a"],{"first_event":1,"last_event":5}]'),
        (Piece(files=("/a",), source=0), '[null,null,[],["/a"],{},{},{},0]'),
        (Piece(failure="no"), '[null,null,[],[],{},{},{},null,"no"]'),
    ],
)
def test_a_piece_is_stored_as_json(store: Store, piece: Piece, text: str) -> None:
    assert pieces.pieces_text({7: piece}) == f'{{"7":{text}}}'
    store.add_grid_job(1, "key", "me", "", {"job_type": "executable"})
    store.add_pieces(1, 7, [piece])
    assert store.db.execute("SELECT n, piece FROM local_job").fetchall() == [(7, text)]
    assert store.local_job(1, 7).piece == piece


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ('[null,null,"a","b"]', Piece(arguments=("a", "b"))),
        (
            '{"files":["/a"],"mask":{"first_event":1,"last_event":5},"source":0}',
            Piece(files=("/a",), mask=MASK, source=0),
        ),
        ('{"arguments":["a"],"failure":"no"}', Piece(arguments=("a",), failure="no")),
    ],
)
def test_pieces_are_read_as_they_were_once_stored(text: str, piece: Piece) -> None:
    assert pieces.piece_of(text) == piece

"""Describes the input of a piece in a few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jim.model import Piece

RANGES_SHOWN = 4
LONGEST_PIECE = 60  # in a table


def more(count: int) -> str:
    """Return words for this many further items."""
    return f" and {count:,} more" if count else ""


def mask_in_words(mask: Mapping[str, Any]) -> str:
    """Return the part of its files that a piece has, in words, from the record of its mask."""
    words = [_range(mask, what) for what in ("event", "lumi", "run")]
    for run, ranges in (mask.get("run_lumis") or {}).items():
        shown = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
        rest = more(len(shown) - RANGES_SHOWN) if len(shown) > RANGES_SHOWN else ""
        words.append(f"run {run} lumis {', '.join(shown[:RANGES_SHOWN])}{rest}")
    return "".join(f", {each}" for each in words if each)


def _range(mask: Mapping[str, Any], what: str) -> str:
    first, last = mask.get(f"first_{what}"), mask.get(f"last_{what}")
    if first is None:
        return ""
    return f"{what}s {first:,}{'–' if last is None else f'–{last:,}'}"


def piece_words(piece: Piece, *, whole: bool = False) -> str:
    """Return a piece in words, short for a line of a table, or whole."""
    if piece.files:
        return f"{piece.files[0]}{more(len(piece.files) - 1)}{mask_in_words(piece.mask)}"
    if piece.first_event is not None and piece.events:
        return f"events {piece.first_event:,}–{piece.first_event + piece.events - 1:,}"
    words = " ".join(piece.arguments)
    if whole or len(words) <= LONGEST_PIECE:
        return words
    half = LONGEST_PIECE // 2
    return f"{words[: half - 1]} … {words[-half + 2 :]}"  # its end, too: there it differs from other local jobs

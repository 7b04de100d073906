"""Describes the input of a piece in a few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RANGES_SHOWN = 4


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

"""How an answer differs from what is expected, and the comparing of plain values."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple


class Difference(NamedTuple):
    """The first thing that is not as expected."""

    what: str
    expected: object
    got: object

    def __str__(self) -> str:
        return f"{self.what}: expected {_short(self.expected)}, got {_short(self.got)}"


def _short(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 200 else f"{text[:197]}…"


def same(expected: Any, got: Any, rel_tol: float = 0) -> bool:
    """Compare plain values; numbers may differ by so much."""
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(same(expected[key], got[key], rel_tol) for key in expected)
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(same(a, b, rel_tol) for a, b in zip(expected, got, strict=True))
    if _is_number(expected) and _is_number(got):
        return math.isclose(expected, got, rel_tol=rel_tol)
    return type(expected) is type(got) and bool(expected == got)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

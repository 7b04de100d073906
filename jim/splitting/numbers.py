"""Numbers as manifests have them: often as texts, and printed with 12 significant digits."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from jim.splitting.errors import SplitError
from jim.splitting.kinds import Kind

LARGEST = 1e300


def number_of(value: Any) -> int | float:
    """Read a number, or a text that is one; a whole number stays whole. ValueError for anything else."""
    if isinstance(value, str):
        try:
            value = int(value) if re.fullmatch(r"\s*[+-]?[0-9]{1,300}\s*", value) else float(value)
        except ValueError:
            raise ValueError from None  # its words are Python's
    if type(value) not in (int, float) or not abs(value) <= LARGEST:  # also refuses nan
        raise ValueError
    return value  # type: ignore[no-any-return]


def _whole(value: Any) -> int:
    number = number_of(value)
    if type(number) is not int:
        raise ValueError
    return number


NUMBER = Kind("a number", number_of)
FLOAT = Kind("a number", lambda value: float(number_of(value)))
WHOLE = Kind("a whole number", _whole)


def text_of(number: float) -> str:
    """Print a number: a float with 12 significant digits, and at least one decimal."""
    if isinstance(number, int):
        return str(number)
    text = f"{number:.12g}"
    return text if set(text) & set(".e") else f"{text}.0"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return text_of(number_of(value))


TEXT = Kind("a text or a number", _text)


def progression(start: float, factor: float, step: float, count: int, error: type[SplitError]) -> Iterator[float]:
    """Give `count` numbers: the start, then each time the one before, times the factor, plus the step."""
    number = start
    for k in range(count):
        if k:
            number = number * factor + step
        if not (math.isfinite(number) and abs(number) <= LARGEST):
            raise error("ParameterFactor", factor, f"parameter {k + 1:,} of {count:,} is too large a number")
        yield number

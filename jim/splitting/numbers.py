"""Numbers in manifests: they are often texts, and are printed with 12 significant digits."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from jim.splitting.checked_values import Kind
from jim.splitting.errors import SplitError

LARGEST = 1e300


def number_of(value: Any) -> int | float:
    """Read a number, or a text that is a number; a whole number stays whole. Raise ValueError for anything else."""
    if isinstance(value, str):
        try:
            value = int(value) if re.fullmatch(r"\s*[+-]?[0-9]{1,300}\s*", value) else float(value)
        except ValueError:
            raise ValueError from None  # replaces Python's message
    if type(value) not in (int, float) or not abs(value) <= LARGEST:  # this comparison also refuses nan
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
    """Return a number as text: a float with 12 significant digits and at least one decimal."""
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
    """Return `count` numbers: the start, then each time the last one, times the factor, plus the step."""
    number = start
    for k in range(count):
        if k:
            number = number * factor + step
        if not (math.isfinite(number) and abs(number) <= LARGEST):
            raise error("ParameterFactor", factor, f"parameter {k + 1:,} of {count:,} is too large")
        yield number

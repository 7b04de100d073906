"""Kinds of arguments that several verbs take."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

MOST = 999_999_999


def whole_number(lowest: int, highest: int = MOST) -> Callable[[str], int]:
    """Read a whole number from `lowest` to `highest`."""
    bounds = f"from {lowest}" if highest == MOST else f"from {lowest:,} to {highest:,}"

    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or not lowest <= int(text) <= highest:
            raise argparse.ArgumentTypeError(f"{text!r}: expected a number {bounds}")
        return int(text)

    return read


def number(text: str) -> float:
    """Read any number; its bounds are checked by whoever uses it."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number") from None

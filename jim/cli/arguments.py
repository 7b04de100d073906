"""Kinds of arguments that several verbs take."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable


def whole_number(lowest: int) -> Callable[[str], int]:
    """Read a whole number of at most nine digits, from `lowest` on."""

    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or int(text) < lowest:
            raise argparse.ArgumentTypeError(f"{text!r}: expected a number from {lowest}")
        return int(text)

    return read

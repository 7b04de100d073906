"""Finds the last line that several payloads have written, and what of it they share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from jim.errors import plain

LONGEST = 300  # characters
# What a terminal obeys: colours, moves of the cursor, titles of windows.
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_VARIES = re.compile(r"\b0x[0-9a-f]+\b|\d+", re.IGNORECASE)


def last_line(content: bytes) -> str:
    """Return the last line with anything in it, without control characters, on one line, and short."""
    text = _CONTROL.sub("", _SEQUENCE.sub("", content.decode(errors="replace")))
    for line in reversed(text.splitlines()):
        if words := plain(" ".join(line.split())):
            return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
    return ""


def shared(lines: Sequence[str]) -> tuple[str, int]:
    """Return the line that most of these share, and how many do; * stands for numbers that differ."""
    alike: dict[str, Counter[str]] = {}
    for line in lines:
        alike.setdefault(_VARIES.sub("*", line), Counter())[line] += 1
    if not alike:
        return "", 0
    form, found = max(alike.items(), key=lambda each: each[1].total())
    return (next(iter(found)) if len(found) == 1 else form), found.total()

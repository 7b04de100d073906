"""Reads what a payload has left for its next attempt, where no exit record tells."""

from __future__ import annotations

from pathlib import Path

from jim.errors import JimError
from jim.files import read_regular

LONGEST_RECOVERY, LONGEST_ADVICE = 1_000_000, 8000  # the wrapper takes no longer line


def recovery_of(directory: Path, index: int) -> str:
    """Return the first line that a payload has left for its next attempt, without an exit record; empty if none."""
    try:
        content = read_regular(directory / f"recovery.{index}", LONGEST_RECOVERY)
    except (FileNotFoundError, JimError):  # none, or none that a wrapper would take
        return ""
    line = content.split(b"\n", 1)[0].decode(errors="replace")
    return "".join(each for each in line if each.isprintable()) if len(line) <= LONGEST_ADVICE else ""

"""The log of what administrators did beside grid jobs, whose journals have all else: a line of JSON for each act."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jim.clock import seconds_of
from jim.errors import JimError
from jim.files import append_whole, open_regular

LONGEST = 2000  # characters that are kept of what was named


class Act(NamedTuple):
    """Something that somebody did."""

    at: str
    verb: str
    of: str  # what was named
    by: str  # who did it, and from where


def record(file: Path, act: Act, mode: int = 0o600) -> None:
    """Add what was done to a log."""
    line = json.dumps(act._replace(of=act.of[:LONGEST])._asdict()) + "\n"
    try:
        append_whole(file, line.encode(), mode)
    except OSError as error:
        raise JimError(f"{act.verb} is done, but {file} cannot record it: {error.strerror}") from error


def recorded(file: Path) -> Iterator[Act]:
    """Yield what a log has; a line that makes no sense is left out."""
    with suppress(OSError, JimError), os.fdopen(open_regular(file), "r", errors="replace") as lines:
        for line in lines:
            with suppress(ValueError, TypeError, KeyError, RecursionError, ArithmeticError):
                told = json.loads(line)
                act = Act(*(str(told[name]) for name in Act._fields))
                if seconds_of(act.at) is not None:
                    yield act

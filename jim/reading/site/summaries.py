"""Reads what keepers publish, as the text of strangers: whatever an account writes there, it can only harm itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from jim.clock import as_utc
from jim.errors import JimError
from jim.files import read_regular
from jim.model import State

# Errors while reading a file that another account, or another version of JIM, has written.
ODD = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, ArithmeticError, JimError)
LONGEST = 8 * 1024 * 1024  # bytes of a keeper's summary
MOST = 10**9  # of whatever is counted
LAST = 253_402_300_799  # the last second that a calendar has, in seconds since 1970
LONGEST_STATUS, LONGEST_TROUBLE, LONGEST_TIME = 40, 2000, 40  # characters
MOST_STATUSES, MOST_WAITS = 100, 100


class Summary(NamedTuple):
    """What a keeper publishes: its unfinished grid jobs by status, and their local jobs by state."""

    at: str  # when the keeper wrote it
    seen: str  # when the batch system had given a good answer by then
    trouble: str
    grid_jobs: Mapping[str, int]
    counts: Mapping[State, int]
    waits: Sequence[int]  # seconds that the last starts waited in the batch system


def document(file: Path) -> dict[str, Any]:
    """Read a file of another account, but no link to another place."""
    content = json.loads(read_regular(file, LONGEST))
    if not isinstance(content, dict):
        raise TypeError(f"{file} is not a JSON object")
    return content


def summary(file: Path) -> Summary:
    """Read a summary; raise one of the `ODD` errors if any part of it makes no sense."""
    content = document(file)
    grid_jobs, counts = Counter[str](), Counter[State]()
    for job in content["jobs"]:
        grid_jobs[text(job.get("status", ""), LONGEST_STATUS)] += 1
        counts.update({State(word): count(number) for word, number in job["counts"].items()})
    if len(grid_jobs) > MOST_STATUSES:
        raise ValueError(f"more than {MOST_STATUSES} kinds of status")
    if max(counts.values(), default=0) > MOST:
        raise ValueError(f"more than {MOST:,} local jobs")
    seen = content.get("seen") or ""
    waits = [count(each) for each in content.get("waits", ())[-MOST_WAITS:]]
    trouble = text(content["trouble"], LONGEST_TROUBLE)
    return Summary(moment(content["at"]), seen and moment(seen), trouble, grid_jobs, counts, waits)


def count(number: Any) -> int:
    """Return a number of something; refuse what is none, or larger than any site has."""
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MOST:
        raise ValueError(f"{str(number)[:40]!r} is no number from 0 to {MOST:,}")
    return number


def text(words: Any, longest: int) -> str:
    """Return a text, shortened, in characters that can be written."""
    if not isinstance(words, str):
        raise TypeError(f"{str(words)[:40]!r} is no text")
    return words[:longest].encode(errors="replace").decode()


def moment(words: Any) -> str:
    """Return a time in UTC, written as JIM does; refuse one without a zone, or in no calendar."""
    then = datetime.fromisoformat(text(words, LONGEST_TIME))
    if then.tzinfo is None:
        raise ValueError(f"{words!r} names no time zone")
    if not 0 < then.timestamp() < LAST:
        raise ValueError(f"{words!r} is in no calendar")
    return as_utc(then.timestamp())

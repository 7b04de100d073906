"""Finds which numbers of grid jobs were ever used, where the file that counts them is lost. Doors seldom load this."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from jim.clock import Clock
from jim.errors import Damaged
from jim.site.file import load
from jim.statusdb import is_there, open_store

# Name of a grid job's directory or answer, or of the remains of a directory.
PLACE = re.compile(r"(?:\.removed-)?([1-9][0-9]{0,14})(?:-[0-9a-f]+)?")


def after_all(state: Path, requests: Iterable[int]) -> int:
    """Return the number after all that have left a trace; answers alone go with the grid jobs that are removed."""
    return 1 + max([*used(state, load(str(state)).work), *requests], default=0)


def used(state: Path, work: Path) -> Iterator[int]:
    """Yield all numbers of grid jobs of which there is a trace, beside those of requests."""
    for place in (work, state / "answers"):
        with suppress(FileNotFoundError):
            for name in os.listdir(place):  # noqa: PTH208 - names suffice
                if found := PLACE.fullmatch(name):
                    yield int(found[1])
    if is_there(state):
        # A damaged store knows nothing any more. One that cannot be read just now may: then there is no number yet.
        with suppress(Damaged), closing(open_store(state, Clock())) as store:
            yield store.numbers.highest()

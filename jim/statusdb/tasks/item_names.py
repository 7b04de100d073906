"""Reads how people name items: by name, by pattern, or by ranges of numbers in a part of a name, as in `gen/3-5,9`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

from jim.errors import BadRequest
from jim.statusdb.task_rows import Task

RANGES = re.compile(r"\d{1,12}(-\d{1,12})?(,\d{1,12}(-\d{1,12})?)*", re.ASCII)
MOST = 10_000


def name_in(task: Task, name: str) -> str:
    """Return the name of an item; of a file in a directory that the task watches, its path as the task calls it.

    Another path of the same file would be another item, and the file be worked on twice.
    """
    places = [Path(each.directory) for each in task.spec.sources if each.kind == "directory"]
    if not places or not Path(name).exists():
        return name
    path = Path(name).parent.resolve() / Path(name).name
    ways = (str(each / path.relative_to(there)) for each in places if path.is_relative_to(there := each.resolve()))
    return next(ways, str(path))


def is_pattern(text: str) -> bool:
    """Tell whether a name may stand for several items."""
    return any(each in text for each in "*?[")


def patterns(text: str) -> list[str]:
    """Return the patterns that a name means: itself, and one for each number if a part of it has ranges."""
    parts = [_numbers(part) if RANGES.fullmatch(part) and not part.isdigit() else [part] for part in text.split("/")]
    if not any(RANGES.fullmatch(part) and not part.isdigit() for part in text.split("/")):
        return [text]
    names = ["/".join(each) for each in islice(product(*parts), MOST + 1)]
    if len(names) > MOST:
        raise BadRequest(f"{text}: names more than {MOST:,} items")
    return [text, *names]  # an item may be called so


def _numbers(part: str) -> list[str]:
    return list(islice(_each(part), MOST + 1))


def _each(part: str) -> Iterator[str]:
    """Yield the numbers of ranges, as wide as the first of each: 0008-0010 is 0008, 0009, 0010."""
    for text in part.split(","):
        first, _, last = text.partition("-")
        yield from (str(number).zfill(len(first)) for number in range(int(first), int(last or first) + 1))

"""Reads tables that local jobs bring back: tab-separated numbers under a line of column names."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from typing import TextIO

from jim.errors import JimError
from jim.files import open_regular
from jim.handlers.base import Result

LONGEST_LINE = 1000  # characters of a line; a file without line ends must not fill the memory


def column(file: str, name: str, results: Iterable[Result]) -> Iterator[float]:
    """Return one column of this file from all local jobs, number by number; an error names the place."""
    for result in results:
        where = f"local job {result.n}, {file}"
        if file not in result.files:
            raise JimError(f"{where}: the file is missing")
        with os.fdopen(open_regular(result.directory / file), encoding="utf-8", errors="replace") as table:
            yield from _numbers(table, name, where)


def _numbers(table: TextIO, name: str, where: str) -> Iterator[float]:
    lines = iter(lambda: table.readline(LONGEST_LINE), "")
    head = next(lines, "").rstrip("\n")
    names = head.split("\t")
    if name not in names:
        raise JimError(f"{where}, line 1: expected column names with {name!r}, found {head[:60]!r}")
    place = names.index(name)
    for at, line in enumerate(lines, 2):
        try:
            words = line.rstrip("\n").split("\t")
            value = float(words[place])
            if len(words) != len(names) or len(line) == LONGEST_LINE or not math.isfinite(value):
                raise ValueError(line)
        except (ValueError, IndexError) as error:
            raise JimError(
                f"{where}, line {at}: expected {len(names)} columns of numbers, found {line[:60]!r}"
            ) from error
        yield value

"""The lumi mask of a request: a list of runs, and for each run a text with the first and last lumi of each range."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from jim.splitting.checked_values import Kind, list_of, run_number
from jim.splitting.errors import InvalidMask
from jim.splitting.files_and_jobs import Range
from jim.splitting.lumi_ranges import LumiMask
from jim.splitting.parameters import Common, parameter


def _pairs(value: Any) -> tuple[Range, ...]:
    if not isinstance(value, str) or not re.fullmatch(r"\s*[0-9]{1,18}\s*(,\s*[0-9]{1,18}\s*)*", value, re.ASCII):
        raise ValueError
    numbers = [int(each) for each in value.split(",")]
    if len(numbers) % 2:
        raise ValueError(f"lumis in pairs (first and last), but {value!r} has {len(numbers)} numbers")
    pairs = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    for first, last in pairs:
        if last < first:
            raise ValueError(f"each pair of lumis in ascending order, but {value!r} has {first},{last}")
    return pairs


RUN_LIST = list_of(Kind("a run number", run_number), "run numbers")
LUMI_LIST = list_of(Kind("lumis", _pairs), "texts, such as '1,10,15,15' for lumis 1 to 10 and 15")


@dataclass(frozen=True)
class Masked(Common):
    """The parameters of splitters that apply lumi masks."""

    runs: tuple[int, ...] = parameter((), RUN_LIST, "the runs of the lumi mask", error=InvalidMask)
    lumis: tuple[tuple[Range, ...], ...] = parameter(
        (), LUMI_LIST, "the lumis of each run of the mask, in pairs of first and last", error=InvalidMask
    )

    def __post_init__(self) -> None:
        if len(self.runs) != len(self.lumis):
            why = f"{len(self.runs)} runs, but lumis for {len(self.lumis)}; each run needs its own"
            raise InvalidMask("lumis", self.lumis, why)

    def mask(self) -> LumiMask | None:
        """Return the mask, if there is one."""
        ranges: dict[int, list[Range]] = {}
        for run, pairs in zip(self.runs, self.lumis, strict=True):
            ranges.setdefault(run, []).extend(pairs)
        return LumiMask(ranges) if ranges else None

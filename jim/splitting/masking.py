"""The lumi mask of a request: a list of runs, and for each of them a text of lumis in pairs, from and to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from jim.splitting.errors import InvalidMask
from jim.splitting.kinds import Kind, list_of, run_number
from jim.splitting.lumi_ranges import LumiMask
from jim.splitting.parameters import Common, parameter
from jim.splitting.units import Range


def _pairs(value: Any) -> tuple[Range, ...]:
    if not isinstance(value, str) or not re.fullmatch(r"\s*[0-9]{1,18}\s*(,\s*[0-9]{1,18}\s*)*", value, re.ASCII):
        raise ValueError
    numbers = [int(each) for each in value.split(",")]
    if len(numbers) % 2:
        raise ValueError(f"lumis in pairs, from and to, where {value!r} has {len(numbers)}")
    pairs = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    for first, last in pairs:
        if last < first:
            raise ValueError(f"lumis from the lower to the higher one, where {value!r} has {first},{last}")
    return pairs


RUN_LIST = list_of(Kind("a run number", run_number), "run numbers")
LUMI_LIST = list_of(Kind("lumis", _pairs), "texts, such as '1,10,15,15' for lumis 1 to 10 and 15")


@dataclass(frozen=True)
class Masked(Common):
    """What splitters take that heed lumi masks."""

    runs: tuple[int, ...] = parameter((), RUN_LIST, "the runs of the lumi mask", error=InvalidMask)
    lumis: tuple[tuple[Range, ...], ...] = parameter(
        (), LUMI_LIST, "for each run of the mask its lumis, in pairs", error=InvalidMask
    )

    def __post_init__(self) -> None:
        if len(self.runs) != len(self.lumis):
            why = f"{len(self.runs)} runs, and lumis for {len(self.lumis)}; each run needs its own"
            raise InvalidMask("lumis", self.lumis, why)

    def mask(self) -> LumiMask | None:
        """Give the mask, if there is one."""
        ranges: dict[int, list[Range]] = {}
        for run, pairs in zip(self.runs, self.lumis, strict=True):
            ranges.setdefault(run, []).extend(pairs)
        return LumiMask(ranges) if ranges else None

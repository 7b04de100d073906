"""ArgSplitter: a job for each list of arguments, instead of the request's own arguments or after them.

It splits a request: each job's own has its `arguments`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jim.splitting.errors import SplitterConfiguration
from jim.splitting.kinds import FLAG, Kind, list_of
from jim.splitting.parameters import parameter

NAME = "ArgSplitter"
SPLITS_REQUESTS = True


def _argument(given: Any) -> str | int | float:
    if type(given) not in (str, int, float):
        raise ValueError
    return given  # type: ignore[no-any-return]


ARGUMENTS = list_of(Kind("", _argument), "texts and numbers")


@dataclass(frozen=True)
class Parameters:
    """What ArgSplitter takes."""

    args: tuple[tuple[str | int | float, ...], ...] = parameter(
        (), list_of(ARGUMENTS, "lists of texts and numbers"), "the arguments of each job"
    )
    append: bool = parameter(False, FLAG, "let the request's own arguments come first")


def split(request: Mapping[str, Any], p: Parameters) -> Iterator[dict[str, Any]]:
    """Give each job's request."""
    if "arguments" not in request:
        raise SplitterConfiguration("arguments", None, "this job type has no arguments to split over")
    first = tuple(request["arguments"] or ()) if p.append else ()
    for each in p.args:
        yield {**request, "arguments": [*first, *each]}

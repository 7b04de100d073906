"""ArgSplitter: a job for each list of arguments, which replaces or follows the request's own arguments.

It splits a request: the request of each job has its own `arguments`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jim.splitting.checked_values import FLAG, Kind, list_of
from jim.splitting.errors import SplitterConfiguration
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
    """The parameters of ArgSplitter."""

    args: tuple[tuple[str | int | float, ...], ...] = parameter(
        (), list_of(ARGUMENTS, "lists of texts and numbers"), "the arguments of each job"
    )
    append: bool = parameter(False, FLAG, "true: each list follows the request's own arguments")


def split(request: Mapping[str, Any], p: Parameters) -> Iterator[dict[str, Any]]:
    """Return the request of each job."""
    if "arguments" not in request:
        raise SplitterConfiguration("arguments", None, "this job type has no arguments to split over")
    first = tuple(request["arguments"] or ()) if p.append else ()
    for each in p.args:
        yield {**request, "arguments": [*first, *each]}

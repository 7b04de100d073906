"""Parametric: a job for each value of `Parameters`, or for each term of a progression, as in DIRAC's RFC 15.

It splits a manifest: the manifest of each job has the value as `Parameter`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jim.splitting.checked_values import Kind
from jim.splitting.errors import SplitError
from jim.splitting.numbers import FLOAT, TEXT, WHOLE, progression, text_of
from jim.splitting.parameters import declared, parameter

NAME = "Parametric"
SPLITS_REQUESTS = True


def _values(given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        return tuple(each.strip() for each in given.split(",") if each.strip())
    return tuple(map(TEXT.read, given if isinstance(given, list | tuple) else [given]))


VALUES = Kind("a number of jobs, or a list of values", _values)


@dataclass(frozen=True)
class Parameters:
    """The parameters of Parametric."""

    values: tuple[str, ...] = parameter(
        (), VALUES, "number of jobs, or the list of their values", "Parameters", SplitError
    )
    start: float = parameter(1.0, FLOAT, "the first value of a progression", "ParameterStart", SplitError)
    step: float = parameter(0.0, FLOAT, "number that is added to get the next value", "ParameterStep", SplitError)
    factor: float = parameter(
        1.0, FLOAT, "number by which a value is multiplied to get the next one", "ParameterFactor", SplitError
    )


def split(manifest: Mapping[str, Any], p: Parameters) -> Iterator[dict[str, Any]]:
    """Return the manifest of each job."""
    own = {each.name for each in declared(Parameters).values()}
    rest = {name: value for name, value in manifest.items() if name not in own}
    for value in _progression(p) if len(p.values) == 1 else p.values:
        yield rest | {"Parameter": value}


def _progression(p: Parameters) -> Iterator[str]:
    count = WHOLE.of(p.values[0], "Parameters", SplitError, "a list of values needs at least two")
    if count < 1:
        raise SplitError("Parameters", count, f"expected at least one job, found {count:,}")
    return map(text_of, progression(p.start, p.factor, p.step, count, SplitError))

"""ParametricJDL: parameters as DIRAC's JDL has them now, several side by side, each a list or a progression.

It splits a manifest: `%s` is the value of the parameter without a name, `%(NAME)s` of the one with that name, and `%n`
the number of the job. Each job's own has the values as `Parameter` and `Parameter.NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jim.errors import shown
from jim.splitting.errors import InvalidManifest, TooManyJobs
from jim.splitting.kinds import Kind, whole
from jim.splitting.numbers import NUMBER, TEXT, WHOLE, progression, text_of
from jim.splitting.parameters import declared, parameter

NAME = "ParametricJDL"
SPLITS_REQUESTS = True
OPTION = re.compile(r"(Parameters|ParameterStart|ParameterStep|ParameterFactor)(?:\.(.+))?")
PLACE = re.compile(r"%(?:(n)|s|\(([^()]+)\)s)")
Value = str | tuple[str, ...]
Manifest = Mapping[str, Any]


def _value(given: Any) -> Value:
    if isinstance(given, list | tuple):
        return tuple(map(TEXT.read, given))
    return str(TEXT.read(given))


VALUE = Kind("a value, or a list of values", _value)


def _jobs(given: Any) -> Any:
    return tuple(map(_value, given)) if isinstance(given, list | tuple) else WHOLE.read(given)


JOBS = Kind("a number of jobs, or a list of values", _jobs)


@dataclass(frozen=True)
class Parameters:
    """What ParametricJDL takes. All but the first stand in the manifest itself, some with a name behind theirs."""

    most: int = parameter(20, whole(1), "jobs that a manifest may become", "MaxParametricJobs")
    jobs: int | tuple[Value, ...] | None = parameter(
        None, JOBS, "how many jobs, or their values; a list also with .NAME", "Parameters", InvalidManifest
    )
    start: float = parameter(
        1, NUMBER, "the first value; also with .NAME, as the next two", "ParameterStart", InvalidManifest
    )
    step: float = parameter(0, NUMBER, "added to a value for the next", "ParameterStep", InvalidManifest)
    factor: float = parameter(1, NUMBER, "a value is multiplied by it for the next", "ParameterFactor", InvalidManifest)


def split(manifest: Manifest, p: Parameters) -> Iterator[dict[str, Any]]:
    """Give each job's manifest; one without parameters is one job, as it is."""
    told = {name: found.groups("") for name in manifest if (found := OPTION.fullmatch(name))}
    count = _count({name: manifest[name] for name, (option, _) in told.items() if option == "Parameters"})
    if count is None:
        yield dict(manifest)
        return
    if count > p.most:
        raise TooManyJobs("Parameters", count, f"{count:,} jobs would come of this manifest; {p.most:,} may")
    values = {name: _values(manifest, name, count) for _, name in told.values()}
    rest = {name: value for name, value in manifest.items() if name not in told}
    width = len(str(count - 1))
    for n in range(count):
        own = {name: next(those) for name, those in values.items()}
        filled = _filled(rest, str(n).zfill(width), own)
        named = {f"Parameter.{name}" if name else "Parameter": value for name, value in own.items()}
        yield {**filled, **named, "ParameterNumber": n}


def _count(given: Manifest) -> int | None:
    """Say how many jobs: all lists have one length, and it is what the plain `Parameters` says."""
    count = None
    for name, value in given.items():
        if isinstance(value, list | tuple):
            length = len(value)
        elif name == "Parameters":
            length = WHOLE.of(value, name, InvalidManifest, "how many jobs, or a list of values")
        else:
            raise InvalidManifest(name, value, f"expected a list of values, found {shown(value)}")
        if length < 1 or length != (count or length):
            raise InvalidManifest(name, value, f"{length} values, where {count or 'at least one'} are needed")
        count = length
    return count


def _values(manifest: Manifest, name: str, count: int) -> Iterator[Value]:
    """Give the values of a parameter: its list, or its progression, which is whole as far as its numbers are."""
    suffix = f".{name}" if name else ""
    given = manifest.get(f"Parameters{suffix}")
    if isinstance(given, list | tuple):
        return iter([VALUE.of(each, f"Parameters{suffix}", InvalidManifest) for each in given])
    options = map(declared(Parameters).__getitem__, ("start", "step", "factor"))
    start, step, factor = (
        one.kind.of(manifest.get(f"{one.name}{suffix}", one.default), f"{one.name}{suffix}", one.error)
        for one in options
    )
    if float in (type(start), type(step), type(factor)):
        start = float(start)
    return map(text_of, progression(start, factor, step, count, InvalidManifest))


def _filled(value: Any, n: str, own: Mapping[str, Value]) -> Any:
    """Put in the number and the values. A text that is nothing but the place of a list becomes the list."""
    if isinstance(value, Mapping):
        return {name: _filled(each, n, own) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [one for each in value for one in _elements(_filled(each, n, own))]
    if not isinstance(value, str) or "%" not in value:
        return value
    place = PLACE.fullmatch(value)
    if place and not place[1]:
        return own.get(place[2] or "", value)
    return PLACE.sub(lambda found: n if found[1] else _text(own.get(found[2] or "", found[0])), value)


def _elements(filled: Any) -> Sequence[Any]:
    """Give what an element of a list has become: the elements of a list that was put in (a tuple), or itself."""
    return filled if isinstance(filled, tuple) else (filled,)


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ", ".join(value)

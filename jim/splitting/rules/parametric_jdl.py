"""ParametricJDL: parameters of DIRAC's JDL today: several side by side, each a list or a progression.

It splits a manifest: `%s` is the value of the parameter without a name, `%(NAME)s` of the one with that name, and `%n`
the number of the job. The manifest of each job has the values as `Parameter` and `Parameter.NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jim.errors import shown
from jim.splitting.checked_values import Kind, whole
from jim.splitting.errors import InvalidManifest, TooManyJobs
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
    """The parameters of ParametricJDL. All except the first stand in the manifest itself; some have a name appended."""

    most: int = parameter(20, whole(1), "maximum number of jobs of a manifest", "MaxParametricJobs")
    jobs: int | tuple[Value, ...] | None = parameter(
        None, JOBS, "number of jobs, or the list of their values; a list also with .NAME", "Parameters", InvalidManifest
    )
    start: float = parameter(
        1,
        NUMBER,
        "the first value of a progression; also with .NAME, as the next two",
        "ParameterStart",
        InvalidManifest,
    )
    step: float = parameter(0, NUMBER, "number that is added to get the next value", "ParameterStep", InvalidManifest)
    factor: float = parameter(
        1, NUMBER, "number by which a value is multiplied to get the next one", "ParameterFactor", InvalidManifest
    )


def split(manifest: Manifest, p: Parameters) -> Iterator[dict[str, Any]]:
    """Return the manifest of each job; a manifest without parameters is a single job, unchanged."""
    told = {name: found.groups("") for name in manifest if (found := OPTION.fullmatch(name))}
    count = _count({name: manifest[name] for name, (option, _) in told.items() if option == "Parameters"})
    if count is None:
        yield dict(manifest)
        return
    if count > p.most:
        raise TooManyJobs("Parameters", count, f"this manifest makes {count:,} jobs; at most {p.most:,} are allowed")
    values = {name: _values(manifest, name, count) for _, name in told.values()}
    rest = {name: value for name, value in manifest.items() if name not in told}
    width = len(str(count - 1))
    for n in range(count):
        own = {name: next(those) for name, those in values.items()}
        filled = _filled(rest, str(n).zfill(width), own)
        named = {f"Parameter.{name}" if name else "Parameter": value for name, value in own.items()}
        yield {**filled, **named, "ParameterNumber": n}


def _count(given: Manifest) -> int | None:
    """Return the number of jobs: all lists have the same length, and the plain `Parameters` must agree."""
    count = None
    for name, value in given.items():
        if isinstance(value, list | tuple):
            length = len(value)
        elif name == "Parameters":
            length = WHOLE.of(value, name, InvalidManifest, "how many jobs, or a list of values")
        else:
            raise InvalidManifest(name, value, f"expected a list of values, found {shown(value)}")
        if length < 1 or length != (count or length):
            raise InvalidManifest(name, value, f"{length} values, but {count or 'at least one'} needed")
        count = length
    return count


def _values(manifest: Manifest, name: str, count: int) -> Iterator[Value]:
    """Return the values of a parameter: its list or its progression; whole numbers stay whole."""
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
    """Replace the number and the values in a text. A text that is just a list's placeholder becomes the list."""
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
    """Return the elements that replace an element of a list: those of a list that was put in (a tuple), or itself."""
    return filled if isinstance(filled, tuple) else (filled,)


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ", ".join(value)

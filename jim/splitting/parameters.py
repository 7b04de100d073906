"""Declares the parameters of splitters: each is a field with a default, a kind of value, and a line of help."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from jim.errors import nearest, shown
from jim.splitting.checked_values import FLAG, NAMES, Kind, fields, number
from jim.splitting.errors import InvalidParameter, SplitError
from jim.splitting.files_and_jobs import Estimates

T = TypeVar("T")
P = TypeVar("P")


@dataclasses.dataclass(frozen=True, slots=True)
class Declaration:
    """The declaration of one parameter; `name` is its name in requests."""

    name: str
    default: Any
    kind: Kind
    help: str
    error: type[SplitError]


def parameter(default: T, kind: Kind, about: str, name: str = "", error: type[SplitError] = InvalidParameter) -> T:
    """Declare a field of a class of parameters; `name` is for a parameter whose name in requests differs."""
    metadata = {"kind": kind, "help": about, "name": name, "error": error}
    field: T = dataclasses.field(default=default, metadata=metadata)
    return field


def declared(parameters: type) -> dict[str, Declaration]:
    """Return the declarations of a class of parameters, by field."""
    return {
        each.name: Declaration(
            each.metadata["name"] or each.name,
            each.default,
            each.metadata["kind"],
            each.metadata["help"],
            each.metadata["error"],
        )
        for each in dataclasses.fields(parameters)
    }


def check(parameters: type[P], given: Mapping[str, object]) -> P:
    """Read the parameters of a request; an error names the wrong parameter and the expected value."""
    if not isinstance(given, Mapping):
        raise InvalidParameter("parameters", given, f"expected a table, found {shown(given)}")
    known = {one.name: (field, one) for field, one in declared(parameters).items()}
    for name in given:
        if name not in known:
            raise InvalidParameter(str(name), given[name], f"unknown parameter{nearest(str(name), known)}")
    values = {}
    for name, value in given.items():
        field, one = known[name]
        values[field] = one.kind.of(value, name, one.error, one.help)
    return parameters(**values)


@dataclasses.dataclass(frozen=True)
class Performance:
    """The cost of one event, and the memory of a job; 0 where it is unknown."""

    time_per_event: float = 0
    size_per_event: float = 0
    memory: float = 0

    def of(self, events: int) -> Estimates:
        """Estimate the resources of a job with so many events."""
        # A plain tuple of three takes half the time of the constructor with keywords; every job needs one.
        fields = (events * self.time_per_event, events * self.size_per_event, self.memory)
        return tuple.__new__(Estimates, fields)


def _performance(value: Any) -> Performance:
    told = {name: one for name, one in value.items() if one is not None} if isinstance(value, Mapping) else value
    kinds = dict.fromkeys(("timePerEvent", "sizePerEvent", "memoryRequirement"), number())
    try:
        read = fields(told, kinds, (), "performance", InvalidParameter)
    except InvalidParameter as error:
        raise ValueError(f"{PERFORMANCE.what} ({error})") from error
    return Performance(read.get("timePerEvent", 0), read.get("sizePerEvent", 0), read.get("memoryRequirement", 0))


PERFORMANCE = Kind("a table of timePerEvent, sizePerEvent and memoryRequirement, numbers, 0 or more", _performance)


@dataclasses.dataclass(frozen=True)
class Common:
    """The parameters of every splitter of input files."""

    site_whitelist: tuple[str, ...] = parameter(
        (), NAMES, "run jobs only at these sites; empty: at any", "siteWhitelist"
    )
    site_blacklist: tuple[str, ...] = parameter((), NAMES, "run no job at these sites", "siteBlacklist")
    trust_site_lists: bool = parameter(
        False, FLAG, "true: the site lists alone decide where jobs run, not the locations of files", "trustSitelists"
    )
    performance: Performance = parameter(Performance(), PERFORMANCE, "resources: seconds and kB per event, MB per job")

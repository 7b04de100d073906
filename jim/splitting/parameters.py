"""Parameters of splitters: each declared once, as a field with its default, what it may be, and a line of help."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from jim.errors import nearest, shown
from jim.splitting.errors import InvalidParameter, SplitError
from jim.splitting.kinds import FLAG, NAMES, Kind, fields, number
from jim.splitting.units import Estimates

T = TypeVar("T")
P = TypeVar("P")


@dataclasses.dataclass(frozen=True, slots=True)
class Declaration:
    """What is declared of one parameter. `name` is the one requests use."""

    name: str
    default: Any
    kind: Kind
    help: str
    error: type[SplitError]


def parameter(default: T, kind: Kind, about: str, name: str = "", error: type[SplitError] = InvalidParameter) -> T:
    """Declare a field of a class of parameters; `name` where requests have another one than the field."""
    metadata = {"kind": kind, "help": about, "name": name, "error": error}
    field: T = dataclasses.field(default=default, metadata=metadata)
    return field


def declared(parameters: type) -> dict[str, Declaration]:
    """Tell what a class of parameters declares, by field."""
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
    """Read the parameters of a request, or say which one is wrong and what it may be."""
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
    """What one event costs, and a job's memory; 0 where nothing is known."""

    time_per_event: float = 0
    size_per_event: float = 0
    memory: float = 0

    def of(self, events: int) -> Estimates:
        """Estimate a job of so many events."""
        # A tuple of three, without the keywords of its constructor: half the time, and one for every job.
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
    """What every splitter of input files takes."""

    site_whitelist: tuple[str, ...] = parameter((), NAMES, "only these sites; none: all", "siteWhitelist")
    site_blacklist: tuple[str, ...] = parameter((), NAMES, "never these sites", "siteBlacklist")
    trust_site_lists: bool = parameter(False, FLAG, "the site lists decide, not where files are", "trustSitelists")
    performance: Performance = parameter(Performance(), PERFORMANCE, "seconds and kB per event, MB per job")

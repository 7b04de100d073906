"""The filters of a list as a value, read from a URL or a command line, and written as a URL."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urlencode

from jim.errors import BadRequest, nearest

TIME = r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,6})?)?Z?)?|\d{1,6}[smhdw]"
MOST_GIVEN = 100
LONGEST = 500


class Filter(NamedTuple):
    """One filter: its meaning and its possible values."""

    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    pattern: str = ".+"  # every value must match this as a whole, unless there are choices
    once: bool = False  # only one value; other filters with two values mean either
    longest: int = LONGEST

    def check(self, name: str, value: str) -> None:
        """Refuse an invalid value."""
        if self.choices and value not in self.choices:
            raise BadRequest(f"{name} cannot be {value!r}{nearest(value, self.choices)}")
        if len(value) > self.longest or not re.fullmatch(self.pattern, value, re.ASCII | re.DOTALL):
            wanted = f"a time: {self.help.partition(': ')[2]}" if self.metavar == "TIME" else self.help
            raise BadRequest(f"{name} cannot be {value[:80]!r}: expected {wanted}")


Known = Mapping[str, Filter]


class Filters(NamedTuple):
    """Filters with their values, in the order of the table of known filters."""

    known: Known
    given: tuple[tuple[str, str], ...] = ()

    def of(self, name: str) -> tuple[str, ...]:
        """Return the values of a filter."""
        return tuple(value for each, value in self.given if each == name)

    def one(self, name: str, default: str = "") -> str:
        """Return the value of a filter with one value."""
        return next(iter(self.of(name)), default)

    def query(self) -> str:
        """Return the filters as the query of a URL."""
        return urlencode(self.given, encoding="utf-8", errors="surrogateescape")

    def but(self, **changes: str | None) -> Filters:
        """Return these filters with changed values; None removes a filter."""
        kept = [(name, value) for name, value in self.given if name not in changes]
        new = [(name, value) for name, value in changes.items() if value is not None]
        return self._in_order([*kept, *new])

    def without(self, name: str, value: str) -> Filters:
        """Return these filters without one value, from the first row on."""
        return self._in_order(each for each in self.given if each != (name, value) and each[0] != "after")

    def _in_order(self, pairs: Iterable[tuple[str, str]]) -> Filters:
        return self._replace(given=_in_order(self.known, pairs))


def _in_order(known: Known, pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    place = {name: number for number, name in enumerate(known)}
    return tuple(sorted(dict.fromkeys(pairs), key=lambda pair: place[pair[0]]))


def read(known: Known, pairs: Iterable[tuple[str, str]]) -> Filters:
    """Read the query of a URL; refuse unknown filters. Empty values count as not given, as forms send them."""
    given = [(name, value) for name, value in pairs if value or name not in known]
    if len(given) > MOST_GIVEN:
        raise BadRequest(f"more than {MOST_GIVEN} filters")
    for name, value in given:
        if name not in known:
            raise BadRequest(f"unknown filter {name[:80]!r}{nearest(name, known)}")
        known[name].check(name, value)
    for name, each in known.items():
        if each.once and len({value for other, value in given if other == name}) > 1:
            raise BadRequest(f"{name} can be given once")
    return Filters(known, _in_order(known, given))


def add_filters(parser: argparse.ArgumentParser, known: Known, *names: str) -> None:
    """Declare filters as options of a command."""
    for name in names:
        each = known[name]
        if each.choices == ("yes",):
            parser.add_argument(f"--{name}", action="append_const", const="yes", help=each.help)
        else:
            metavar = each.metavar or name.upper()
            choices = f": {', '.join(each.choices)}" if each.choices else ""
            parser.add_argument(
                f"--{name}",
                action="append",
                metavar=metavar,
                help=f"{each.help}{choices}",
                choices=each.choices or None,
            )


def from_arguments(known: Known, arguments: argparse.Namespace, *names: str) -> Filters:
    """Read filters from the options of a command. Whoever types a time means that of their own clock.

    An empty value is a variable that a script has not set: without that filter, the command would concern more.
    """
    given = [(name, value) for name in names for value in getattr(arguments, name) or ()]
    for name, value in given:
        if not value:
            raise BadRequest(f"--{name} is empty: give a value, or leave --{name} out")
    return read(known, [(name, in_utc(value) if known[name].pattern == TIME else value) for name, value in given])


def in_utc(text: str) -> str:
    """Return a local time in UTC; one that ends with Z, an age, or what is no time stays as it is."""
    with suppress(ValueError, OverflowError):
        then = datetime.fromisoformat(text)
        if then.tzinfo is None:
            return f"{then.astimezone(UTC).isoformat(timespec='milliseconds')[:23]}Z"
    return text


def numbers(text: str, refuse: Callable[[str], BadRequest]) -> tuple[tuple[int, int], ...]:
    """Read numbers and ranges such as 1-4,7: both ends included."""
    found = []
    for each in text.split(","):
        first, _, last = each.partition("-")
        if int(last or first) < int(first):
            raise refuse(each)
        found.append((int(first), int(last or first)))
    return tuple(found)

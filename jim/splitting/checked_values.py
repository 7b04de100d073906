"""Reads values from outside. Each kind describes the values that it accepts, and refuses all others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jim.errors import nearest, shown
from jim.splitting.errors import SplitError

# Characters that no file name, batch system or terminal carries safely.
ODD = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
LARGEST = 10**18 - 1  # products of numbers up to this one are still floats
TOO_LARGE = "a number of at most 18 digits"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value, described in words; `read` returns the value as JIM keeps it, or raises ValueError."""

    what: str
    read: Callable[[Any], Any]

    def of(self, value: object, key: str, error: type[SplitError], about: str = "") -> Any:
        """Read one value, or raise the error with the expected kind and the found value."""
        try:
            return self.read(value)
        except ValueError as reason:
            more = f" ({about})" if about else ""
            raise error(key, value, f"expected {str(reason) or self.what}, found {shown(value)}{more}") from reason


def _need(possible: object) -> None:
    if not possible:
        raise ValueError


def whole(minimum: int | None = 0) -> Kind:
    """Return the kind of whole numbers with this minimum."""

    def read(value: Any) -> int:
        _need(type(value) is int and (minimum is None or value >= minimum))
        if abs(value) > LARGEST:
            raise ValueError(TOO_LARGE)
        return int(value)

    return Kind("a whole number" if minimum is None else f"a whole number, {minimum} or more", read)


def number(minimum: float | None = 0) -> Kind:
    """Return the kind of finite numbers with this minimum."""

    def read(value: Any) -> float:
        _need(type(value) in (int, float) and (minimum is None or value >= minimum))
        if not abs(value) <= LARGEST:  # this comparison also refuses nan
            raise ValueError(TOO_LARGE)
        return value  # type: ignore[no-any-return]

    return Kind("a number" if minimum is None else f"a number, {minimum:g} or more", read)


def _flag(value: Any) -> bool:
    _need(value is True or value is False)
    return bool(value)


def _text(value: Any) -> str:
    _need(isinstance(value, str) and value and not ODD.search(value))
    return str(value)


FLAG = Kind("true or false", _flag)
TEXT = Kind("a text of one line", _text)


def one_of(*words: str) -> Kind:
    """Return the kind of texts that are one of these words."""

    def read(value: Any) -> str:
        _need(isinstance(value, str) and value in words)
        return str(value)

    return Kind(" or ".join(map(repr, words)), read)


def list_of(kind: Kind, each: str) -> Kind:
    """Return the kind of lists whose elements are all of one kind."""

    def read(value: Any) -> tuple[Any, ...]:
        _need(isinstance(value, list | tuple))
        return tuple(map(kind.read, value))

    return Kind(f"a list of {each}", read)


def table_of(kind: Kind, each: str) -> Kind:
    """Return the kind of tables whose values are all of one kind."""

    def read(value: Any) -> dict[str, Any]:
        _need(isinstance(value, Mapping))
        return {_text(key): kind.read(one) for key, one in value.items()}

    return Kind(f"a table of {each}", read)


NAMES = list_of(TEXT, "texts")


def _runs(value: Any) -> tuple[tuple[int, tuple[int, ...]], ...]:
    _need(isinstance(value, Mapping))
    runs: dict[int, set[int]] = {}
    for run, lumis in value.items():
        _need(isinstance(lumis, list | tuple))
        runs.setdefault(run_number(run), set()).update(map(whole().read, lumis))
    return tuple((run, tuple(sorted(lumis))) for run, lumis in sorted(runs.items()))


def run_number(value: Any) -> int:
    """Read the number of a run; as the key of a table it is a text."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value):
        return int(value)
    return int(whole().read(value))


RUNS = Kind("a table from run to a list of lumi numbers", _runs)


def fields(
    given: object, kinds: Mapping[str, Kind], required: tuple[str, ...], key: str, error: type[SplitError]
) -> dict[str, Any]:
    """Read a record field by field: every field is known and of its kind, and no required one is missing."""
    if not isinstance(given, Mapping):
        raise error(key, given, f"expected a table, found {shown(given)}")
    for name in given:
        if name not in kinds:
            raise error(f"{key}.{name}", given[name], f"unknown{nearest(str(name), kinds)}")
    for name in required:
        if name not in given:
            raise error(f"{key}.{name}", None, "missing")
    return {name: kinds[name].of(value, f"{key}.{name}", error) for name, value in given.items()}

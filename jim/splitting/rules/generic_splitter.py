"""GenericSplitter: a job for each value of an attribute, or for each set of values of several attributes.

It splits a request: the request of each job has its own values. A dotted name reaches into tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jim.errors import nearest, shown
from jim.splitting.checked_values import Kind, list_of, table_of
from jim.splitting.errors import SplitterConfiguration
from jim.splitting.parameters import parameter

NAME = "GenericSplitter"
SPLITS_REQUESTS = True


Column = tuple[str, tuple[Any, ...]]  # an attribute, and its value in each job


def _name(given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError  # noqa: TRY004 - what every kind raises
    return given


VALUES = list_of(Kind("", lambda given: given), "values")
LISTS = table_of(VALUES, "lists of values")


@dataclass(frozen=True)
class Parameters:
    """The parameters of GenericSplitter."""

    attribute: str = parameter("", Kind("the name of an attribute", _name), "the attribute that differs between jobs")
    values: tuple[Any, ...] = parameter((), VALUES, "the value of this attribute in each job")
    multi_attrs: tuple[Column, ...] = parameter(
        (),
        Kind(LISTS.what, lambda given: tuple(LISTS.read(given).items())),
        "several attributes that differ together: for each its values",
    )


def split(request: Mapping[str, Any], p: Parameters) -> Iterator[dict[str, Any]]:
    """Return the request of each job."""
    columns = _columns(p)
    for name, _ in columns:
        _with(request, name, name.split("."), None)
    for n in range(len(columns[0][1])) if columns else ():
        own = dict(request)
        for name, values in columns:
            own = _with(own, name, name.split("."), values[n])
        yield own


def _columns(p: Parameters) -> tuple[Column, ...]:
    if p.multi_attrs and (p.attribute or p.values):
        raise SplitterConfiguration(
            "multi_attrs", dict(p.multi_attrs), "cannot be given together with attribute and values"
        )
    if p.values and not p.attribute:
        raise SplitterConfiguration("values", p.values, "needs the parameter attribute, which is missing")
    columns = ((p.attribute, p.values),) if p.attribute else p.multi_attrs
    for name, values in columns:
        first, needed = columns[0][0], len(columns[0][1])
        if len(values) != needed:
            raise SplitterConfiguration(name, values, f"{len(values)} values, but {first} has {needed}")
    return columns


def _with(table: Mapping[str, Any], name: str, path: Sequence[str], value: Any) -> dict[str, Any]:
    """Return a copy of a table with another value of one attribute, which must exist; its name may be dotted."""
    here, *further = path
    if here not in table or (further and not isinstance(table[here], Mapping)):
        raise SplitterConfiguration(name, None, f"there is no attribute {shown(name)}{nearest(here, table)}")
    return {**table, here: _with(table[here], name, further, value) if further else value}

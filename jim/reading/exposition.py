"""Writes numbers in the text format of Prometheus, which its collectors read too."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
GAUGE, COUNTER, HISTOGRAM = "gauge", "counter", "histogram"


class Sample(NamedTuple):
    """One number of a family; the suffix tells which part of a histogram it is."""

    value: float
    labels: Mapping[str, str]
    suffix: str = ""


class Family(NamedTuple):
    """Numbers of one name: its kind, what it means, and a number for each set of labels."""

    name: str
    kind: str
    help: str
    samples: Sequence[Sample]


def text_of(families: Iterable[Family]) -> str:
    """Return families as text; one without a number is left out."""
    return "".join(f"{line}\n" for each in families if each.samples for line in _lines(each))


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {_escaped(family.help)}"
    yield f"# TYPE {family.name} {family.kind}"
    for each in family.samples:
        labels = ",".join(f'{name}="{_quoted(value)}"' for name, value in each.labels.items())
        yield f"{family.name}{each.suffix}{f'{{{labels}}}' if labels else ''} {number(each.value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(text: str) -> str:
    """Return the value of a label; what cannot be written as UTF-8, such as a part of it, is marked."""
    return _escaped(text).replace('"', r"\"").encode(errors="replace").decode()


def number(value: float) -> str:
    """Return a number as the format has it."""
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))

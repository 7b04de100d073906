"""Requests in JSON."""

import json
from typing import Any


def parse(text: str) -> dict[str, Any]:
    """Read the attributes of a request; `ValueError` says where it is wrong."""
    attributes = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    if not isinstance(attributes, dict):
        raise ValueError("expected an object { … } of attributes")  # noqa: TRY004
    return attributes


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    attributes = dict(pairs)
    if len(attributes) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"attribute {next(n for n in names if names.count(n) > 1)!r} is given twice")
    return attributes


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")

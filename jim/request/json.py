"""Reads requests in JSON."""

import json
import re
from typing import Any


def parse(text: str) -> dict[str, Any]:
    """Read the attributes of a request; a `ValueError` names the place of a mistake."""
    try:
        attributes = json.loads(text if text.strip() else "{}", object_pairs_hook=_once, parse_constant=_no_constant)
    except _TwiceError as error:
        raise ValueError(error.at(text)) from error
    if not isinstance(attributes, dict):
        raise ValueError("expected an object { … } of attributes")  # noqa: TRY004
    return attributes


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    attributes = dict(pairs)
    if len(attributes) != len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(next(name for name in names if names.count(name) > 1))
    return attributes


class _TwiceError(ValueError):
    """A name that an object has twice; the parser does not tell its place."""

    def at(self, text: str) -> str:
        """Find the second place of the name in a text."""
        name = self.args[0]
        places = [found.start() for found in re.finditer(rf"{re.escape(json.dumps(name))}\s*:", text)]
        # Imported here: JSON without a mistake does not need this large module.
        from jim.request.languages import place

        # Otherwise one of the two names is written with escapes.
        there = f": {place(text, places[1])}" if len(places) > 1 else ""
        return f"attribute {name!r} is given twice{there}"


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a number in JSON")

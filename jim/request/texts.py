"""Attributes that a gatekeeper can only pass as texts: each becomes the kind that its job type declares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from jim.errors import BadRequest
from jim.handlers.base import Attribute
from jim.request import declarations, handler_of
from jim.request.languages import meant, plain


def attributes_of(texts: Mapping[str, str], job_type: str, own: str) -> dict[str, Any]:
    """Return attributes with values of their declared kinds; names are compared without case and underscores.

    A text that does not fit, and an unknown name, stay as they are, so that the usual check refuses them.
    """
    declared = declarations(handler_of(job_type, own))
    names = {plain(other): name for name, one in declared.items() for other in (*one.also, name)}
    found: dict[str, Any] = {}
    for written, text in texts.items():
        name = names.get(plain(written), written.lower())
        if name in found:
            raise BadRequest("given twice", name)
        found[name] = value_of(name, text, declared[name]) if name in declared else text
    return found


def value_of(name: str, text: str, declared: Attribute) -> Any:
    """Return a text as its declared kind: lists of texts with commas between them, other lists and tables as JSON."""
    kind = declared.kind
    with suppress(ValueError, RecursionError):
        if kind in ("table", "lists", "values", "records") or (kind == "list" and text.startswith("[")):
            return json.loads(text)
    if kind == "list":
        return [each.strip() for each in text.split(",")]
    return meant(name, text.lower() if kind is bool else text, declared)

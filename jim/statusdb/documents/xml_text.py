"""Writes what documents are made of as text: values, attributes, and the heads of elements."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from jim.clock import seconds_of
from jim.statusdb.documents.elements import NAMESPACE, ODD, Element

DECLARATION = "<?xml version='1.0' encoding='utf-8'?>\n"
OUTER = f' xmlns:jim="{NAMESPACE}"'  # of the outermost element
_SPECIAL = re.compile(r"[&<>\"\t\n\r]|[^\x20-\x7e]")
_IN_TEXT = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord("\r"): "&#13;"}
_IN_ATTRIBUTE = _IN_TEXT | {ord('"'): "&quot;", ord("\t"): "&#9;", ord("\n"): "&#10;"}


def heads(element: Element) -> Callable[[Sequence[Any]], str]:
    """Return the function that writes the attributes of elements from their values in order."""
    names = [f' {name}="' for name in element.attributes]

    def written(values: Sequence[Any]) -> str:
        return "".join(
            f'{name}{quoted(value) if value.__class__ is str else value}"'
            for name, value in zip(names, values, strict=True)
            if value is not None and value != ""
        )

    return written


def changed(updated: str) -> dict[str, str | None]:
    """Return a time in words, and in seconds since 1970: XPath compares numbers only."""
    seconds = seconds_of(updated)
    return {"updated": updated, "updated_s": None if seconds is None else f"{seconds:.3f}"}


def of_value(name: str, head: str, value: Any) -> str:
    """Write a value of a request: a table as attributes, a list as values, anything else as text."""
    if isinstance(value, Mapping):
        inside = "".join(of_value("attribute", f' name="{quoted(str(key))}"', each) for key, each in value.items())
    elif isinstance(value, list | tuple):
        inside = "".join(of_value("value", "", each) for each in value)
    elif isinstance(value, bool):
        inside = str(value).lower()
    else:
        inside = "" if value is None else text(str(value))
    return f"<jim:{name}{head}>{inside}</jim:{name}>" if inside else f"<jim:{name}{head}/>"


def attributes(facts: Mapping[str, Any]) -> str:
    """Write the known attributes; leave out unknown ones."""
    return "".join(f' {name}="{quoted(str(value))}"' for name, value in facts.items() if value not in (None, ""))


@lru_cache(8192)
def quoted(value: str) -> str:
    """Write the value of an attribute."""
    return safe(value).translate(_IN_ATTRIBUTE) if _SPECIAL.search(value) else value


def text(value: str) -> str:
    """Write text between elements."""
    return safe(value).translate(_IN_TEXT) if _SPECIAL.search(value) else value


def safe(value: str) -> str:
    """Replace characters that XML cannot carry."""
    return ODD.sub("\ufffd", value)

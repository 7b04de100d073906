"""Checks the value of an attribute of a request against its declaration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from jim.errors import BadRequest, Missing, nearest, shown
from jim.handlers.base import IN_WORDS, Attribute

DEEPEST = 16  # levels of a table
TWO_LINES = "contains a line break, but must be one line"
IN_A_FILE = ": write the text into a file, and name that file in inputs"
# These variables would change how JIM's own programs or the dynamic linker behave, not only the payload.
FORBIDDEN_VARIABLES, FORBIDDEN_BEGINNINGS = ("PATH", "IFS", "ENV", "BASH_ENV", "SHELL"), ("JIM_", "LD_")
KIND_NAMES = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    "list": "a list of texts",
    "lists": "a list of lists of texts",
    "table": "a table of texts",
    "records": "a list of names or tables",
    "values": "a table",
}


def value_of(name: str, value: Any, declared: Attribute) -> Any:
    """Check a value against its declaration; an attribute that the request leaves out gets its default."""
    if value is None:
        if declared.required:
            raise Missing(f"missing ({declared.help})", name)
        return declared.default
    if not _is_kind(value, declared.kind) and value not in declared.allowed:
        possible = " or ".join((KIND_NAMES[declared.kind], *map(shown, declared.allowed)))
        sets = "; a list for each of several local jobs: argument_sets" * (
            name == "arguments" and _is_kind(value, "lists")
        )
        raise BadRequest(f"expected {possible}, found {shown(value)} ({declared.help}{sets})", name)
    check_text(name, value)
    if isinstance(value, int | float):
        _check_range(name, value, declared)
    elif isinstance(value, str):
        _check_word(name, value, declared)
    if name == "environment":
        _check_environment(value)
    if name == "outputs":
        _check_outputs(value)
    return value


def _is_kind(value: Any, kind: type | str) -> bool:
    if kind == "list":
        return isinstance(value, list) and set(map(type, value)) <= {str}
    if kind == "lists":
        return isinstance(value, list) and set(map(type, value)) <= {list} and _is_kind([*chain(*value)], "list")
    if kind == "records":
        return isinstance(value, list) and set(map(type, value)) <= {dict}
    if kind == "values":
        return isinstance(value, dict)
    if kind == "table":
        return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
    if isinstance(value, bool):
        return kind is bool
    if kind is float:
        return isinstance(value, int | float)
    return isinstance(value, kind)  # type: ignore[arg-type]


def check_text(name: str, value: Any, depth: int = 0) -> None:
    """Refuse characters that no batch system, shell or file can carry safely in one line."""
    if isinstance(value, str):
        if not value.isprintable() and (odd := re.search(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]", value)):
            lines = TWO_LINES + IN_A_FILE * name.startswith(("argument", "environment"))  # texts for a payload
            raise _at(name, lines if odd[0] in "\r\n" else f"contains the character {odd[0]!r}: remove it")
        if len(value) > 8192 and len(value.encode()) > 32_768:
            raise _at(name, f"the text has {len(value):,} characters; the limit is 32,768 bytes")
    elif isinstance(value, list | dict):
        if depth == DEEPEST:
            raise _at(name[:80], f"lists and tables are nested more than {DEEPEST} deep")
        for where, each in _parts(name, value):
            check_text(where, each, depth + 1)
    elif not isinstance(value, int | float | None):
        raise _at(name, f"{shown(value)} is not a text, number, list or table")


def _at(path: str, words: str) -> BadRequest:
    """Refuse an attribute, or an entry of its table."""
    name, _, part = path.partition(".")
    return BadRequest(words, name, part, told=path)


def _is_harmless(value: list[Any] | dict[str, Any]) -> bool:
    """Tell quickly whether all texts are short and printable; most are."""
    if set(map(type, value)) == {list}:
        texts = [*chain(*value)]
    else:
        texts = [*value, *value.values()] if isinstance(value, dict) else value
    return set(map(type, texts)) <= {str} and max(map(len, texts), default=0) <= 8192 and "".join(texts).isprintable()


def _parts(name: str, value: list[Any] | dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Return every text and number in a list or a table."""
    if _is_harmless(value):
        return
    yield from ((name, each) for each in value)  # of a table, its names
    if isinstance(value, dict):
        yield from ((f"{name}.{key}", each) for key, each in value.items())


def _check_range(name: str, value: float, declared: Attribute) -> None:
    low, high = declared.minimum, declared.maximum
    if (
        (low is not None and not value >= low)
        or (high is not None and not value <= high)
        or value in (float("inf"), float("-inf"))
    ):
        bounds = [
            f"at least {low:,}" if low is not None else "",
            f"at most {high:,}" if high is not None else "finite" * isinstance(value, float),
        ]
        expected = " and ".join(filter(None, bounds))
        raise BadRequest(f"expected {expected}, found {shown(value)} ({declared.help})", name)


def _check_word(name: str, value: str, declared: Attribute) -> None:
    if declared.pattern and not re.fullmatch(declared.pattern, value, re.ASCII):
        rule = IN_WORDS.get(declared.pattern, f"it must match {declared.pattern}")
        raise BadRequest(f"{shown(value)} is not possible ({declared.help}; {rule})", name)
    if declared.allowed and value not in declared.allowed:
        raise BadRequest(f"{shown(value)} is not allowed ({declared.help}){nearest(value, declared.allowed)}", name)


def _check_environment(value: dict[str, str]) -> None:
    for name in value:
        if not (name.isascii() and name.isidentifier() and len(name) <= 128):
            raise BadRequest(f"{shown(name)} is not a valid name of an environment variable", "environment", name)
        if name in FORBIDDEN_VARIABLES or name.startswith(FORBIDDEN_BEGINNINGS):
            words = f"a request may not set {name}; the payload can set it for itself"
            raise BadRequest(words, "environment", name)


def _check_outputs(value: list[str]) -> None:
    for each in value:
        if not each or each.startswith(("/", "-")) or ".." in each.split("/"):
            raise BadRequest(f"{shown(each)} must be a name or pattern inside the payload's directory", "outputs")

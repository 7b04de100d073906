"""The job description language of manifests, as far as cases use it: `[ name = value; … ]`."""

from __future__ import annotations

import re
from typing import Any

TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([\[\]{};,=])|([^\[\]{};,="]+))', re.DOTALL)


def read(text: str) -> dict[str, Any]:
    """Read a manifest; values are texts, lists and tables."""
    tokens = _tokens(text.strip())
    table, rest = _value(tokens)
    if not isinstance(table, dict) or rest:
        raise ValueError(f"not one [ … ]: {text!r}")
    return table


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, place = [], 0
    while place < len(text):
        found = TOKEN.match(text, place)
        if not found:
            raise ValueError(f"cannot be read: {text[place:]!r}")
        place = found.end()
        if found[1] is not None:
            tokens.append(("value", re.sub(r"\\(.)", r"\1", found[1])))
        elif found[2]:
            tokens.append((found[2], found[2]))
        elif found[3].strip():
            tokens.append(("value", found[3].strip()))
    return tokens


def _value(tokens: list[tuple[str, str]]) -> tuple[Any, list[tuple[str, str]]]:
    (kind, text), rest = tokens[0], tokens[1:]
    if kind == "{":
        return _list(rest)
    if kind == "[":
        return _table(rest)
    if kind != "value":
        raise ValueError(f"expected a value, found {text!r}")
    return text, rest


def _list(rest: list[tuple[str, str]]) -> tuple[list[Any], list[tuple[str, str]]]:
    values: list[Any] = []
    while rest[0][0] != "}":
        value, rest = _value(rest)
        values.append(value)
        if rest[0][0] == ",":
            rest = rest[1:]
    return values, rest[1:]


def _table(rest: list[tuple[str, str]]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    table: dict[str, Any] = {}
    while rest[0][0] != "]":
        (_, name), (sign, _) = rest[:2]
        if sign != "=":
            raise ValueError(f"expected {name} = …")
        table[name], rest = _value(rest[2:])
        if rest[0][0] == ";":
            rest = rest[1:]
    return table, rest[1:]

"""What the languages with texts only (JDF, JDL, RSL) share: each text becomes the kind that its job type declares."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from jim.errors import BadRequest, nearest
from jim.handlers.base import Attribute
from jim.request import check, declarations, handler_of

WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
LONG_NUMBER = re.compile(r"[+-]?[0-9]{19,}")
NUMBER = re.compile(r"[+-]?(?:[0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18})(?:[eE][+-]?[0-9]{1,3})?")
STRUCTURED = {"values": "{", "records": "[", "lists": "["}  # kinds that may be JSON, and how that begins
TRUTHS = {"true": True, "false": False}


class Said(NamedTuple):
    """One attribute as the request has it."""

    name: str  # as written; a name with a + before it is a variable of the payload's environment
    at: int  # its place, counted in characters
    values: list[Any]  # texts, and lists of texts
    text: str | None  # the whole value as one text, if it is one


def plain(name: str) -> str:
    """Return the form in which names are compared: without underscores, all in small letters."""
    return name.replace("_", "").lower()


def place(text: str, at: int) -> str:
    """Return line and column of a character in a text."""
    return f"line {text.count(chr(10), 0, at) + 1}, column {at - text.rfind(chr(10), 0, at)}"


def fault(text: str, at: int, reason: object) -> BadRequest:
    """Make an error that names the place of a mistake."""
    return BadRequest(f"{place(text, at)}: {reason}")


def attributes(
    said: Mapping[str, Said],
    text: str,
    own: str,
    also: Iterable[str] = (),
    again: Mapping[str, list[Said]] | None = None,
) -> dict[str, Any]:
    """Return every attribute with a value of its declared kind. `also` are further names that the language knows.

    `again`, in a language of lines: further lines of the same attribute. Each line is a list of a list of lists.
    """
    job_type = said.get("jobtype")
    if job_type is None:
        check({}, own)  # raises the error that job_type is missing
        return {}
    at = job_type.at
    reading = _Reading({}, {}, {})
    try:
        declared = declarations(handler_of(job_type.text, own))
        names = {plain(each): name for name, one in declared.items() for each in (*one.also, name)}
        known = {*declared, *also, *(each for one in declared.values() for each in one.also)}
        for key, one in said.items():
            at = one.at
            name = "environment" if one.name.startswith("+") else names.get(plain(one.name), "")
            if not name:
                raise BadRequest(f"unknown attribute{nearest(one.name, known)}", one.name)
            lines = again.get(key, []) if again is not None else None
            if lines and declared[name].kind != "lists":
                at = lines[0].at
                raise BadRequest("given twice", lines[0].name)
            reading.add(name, one, declared[name], lines)
    except BadRequest as error:
        raise fault(text, at, error) from error
    _check(reading.request, reading.places, text, own)
    return reading.request


class _Reading(NamedTuple):
    """What was read so far: the request, the places of its attributes, and their names as written."""

    request: dict[str, Any]
    places: dict[str, int]
    wrote: dict[str, str]

    def add(self, name: str, one: Said, declared: Attribute, lines: list[Said] | None) -> None:
        """Add an attribute; `lines`: the further lines of a list of lists, in a language of lines."""
        if name in self.request and declared.kind != "table":
            raise BadRequest(f"given twice, once as {self.wrote[name]}", one.name)
        if declared.kind == "table":
            _fill(self.request.setdefault(name, {}), name, one)
        elif declared.kind == "lists" and lines is not None and not _is_json(one, "lists"):
            self.request[name] = [each.values for each in (one, *lines)]
        else:
            self.request[name] = _value(name, one, declared)
        self.wrote.setdefault(name, one.name)
        self.places.setdefault(one.name if one.name.startswith("+") else name, one.at)


def _check(request: dict[str, Any], places: dict[str, int], text: str, own: str) -> None:
    """Check the request; an error names the place of its attribute."""
    try:
        check(request, own)
    except BadRequest as error:
        at = places.get(f"+{error.part}", places.get(error.about))
        if at is None:
            raise
        raise fault(text, at, error) from error


def _value(name: str, one: Said, declared: Attribute) -> Any:
    if _is_json(one, declared.kind):
        return _from_json(name, one)
    if declared.kind == "values":
        return dict(_named(name, each) for each in one.values)
    if declared.kind in ("list", "lists", "records"):
        return one.values
    if one.text is None:
        several = "a list" if len(one.values) == 1 else f"{len(one.values)} values"
        found = f"{several}; put the text in quotes" if one.values else "nothing"
        raise BadRequest(f"expected one value, found {found} ({declared.help})", name)
    return meant(name, one.text, declared)


def _is_json(one: Said, kind: object) -> bool:
    """Tell whether a value is written in JSON: a list of lists or tables, or a table."""
    sign = STRUCTURED.get(kind) if isinstance(kind, str) else None
    return bool(sign and one.values and isinstance(one.values[0], str) and one.values[0].startswith(sign))


def _from_json(name: str, one: Said) -> Any:
    if one.text is None:
        raise BadRequest("expected JSON as one text; put all of it in quotes, and write quotes inside twice", name)
    try:
        return json.loads(one.text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"not JSON: {error}", name) from error


def _named(name: str, value: Any) -> tuple[str, Any]:
    """Read one parameter: `NAME=value`, or a list of a name and its value."""
    if isinstance(value, str):
        first, sign, rest = value.partition("=")
        if sign and first:
            return first.strip(), _unquoted(rest.strip())
    elif len(value) > 1 and isinstance(value[0], str):
        return value[0], _unquoted(value[1] if len(value) == 2 else value[1:])
    raise BadRequest(f"expected NAME=value, found {value!r:.80}", name)


def _unquoted(value: Any) -> Any:
    """Return the number, truth, list or table that a text is in JSON; a word needs no quotes."""
    if isinstance(value, list):
        return [_unquoted(each) for each in value]
    try:
        return json.loads(value, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return value


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a number in JSON")


def meant(name: str, text: str, declared: Attribute) -> Any:
    """Turn a text into the number or truth value that is declared; otherwise give the text itself."""
    if declared.kind in (int, float) and LONG_NUMBER.fullmatch(text):
        raise BadRequest(f"{text[:40]!r} has more than 18 digits ({declared.help})", name)
    if declared.kind is int and WHOLE_NUMBER.fullmatch(text):
        return int(text)
    if declared.kind is float and NUMBER.fullmatch(text):
        return float(text)
    if declared.kind is bool and text in TRUTHS:
        return TRUTHS[text]
    return text


def _fill(table: dict[str, str], name: str, one: Said) -> None:
    """Add one variable `(NAME text)`, `NAME=text` or `+NAME = text` to a table, or several of the first two."""
    variable = one.name[1:] if one.name.startswith("+") else None
    if variable and one.text is None and one.values:
        raise BadRequest(f"expected one value, found {len(one.values)}; put the text in quotes", one.name)
    for each in one.values if variable is None else [[variable, one.text or ""]]:
        pair = each.split("=", 1) if isinstance(each, str) else each
        if len(pair) != 2 or not isinstance(pair[0], str) or not isinstance(pair[1], str):
            raise BadRequest(f"expected a name and a text, found {each!r:.80}", name)
        if pair[0] in table:
            raise BadRequest(f"{pair[0]!r:.80} is given twice", name)
        table[pair[0]] = pair[1]

"""Functions that the languages with texts only (JDF, RSL) share: give each text the kind that its job type declares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from jim.errors import BadRequest, nearest
from jim.handlers.base import Attribute
from jim.request import check, declarations, handler_of

WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
LONG_NUMBER = re.compile(r"[+-]?[0-9]{19,}")
NUMBER = re.compile(r"[+-]?(?:[0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18})(?:[eE][+-]?[0-9]{1,3})?")
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


def attributes(said: Mapping[str, Said], text: str, own: str, also: Iterable[str] = ()) -> dict[str, Any]:
    """Return every attribute with a value of its declared kind. `also` are further names that the language knows."""
    job_type = said.get("jobtype")
    if job_type is None:
        check({}, own)  # raises the error that job_type is missing
        return {}
    request: dict[str, Any] = {}
    places: dict[str, int] = {}
    wrote: dict[str, str] = {}
    at = job_type.at
    try:
        declared = declarations(handler_of(job_type.text, own))
        names = {plain(each): name for name, one in declared.items() for each in (*one.also, name)}
        known = {*declared, *also, *(each for one in declared.values() for each in one.also)}
        for one in said.values():
            at = one.at
            name = "environment" if one.name.startswith("+") else names.get(plain(one.name), "")
            if not name:
                raise BadRequest(f"unknown attribute{nearest(one.name, known)}", one.name)
            if name in request and declared[name].kind != "table":
                raise BadRequest(f"given twice, once as {wrote[name]}", one.name)
            if declared[name].kind == "table":
                _fill(request.setdefault(name, {}), name, one)
            else:
                request[name] = _value(name, one, declared[name])
            wrote.setdefault(name, one.name)
            places.setdefault(one.name if one.name.startswith("+") else name, at)
    except BadRequest as error:
        raise fault(text, at, error) from error
    _check(request, places, text, own)
    return request


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
    if declared.kind in ("values", "records"):
        raise BadRequest("this language has no such values; write the request in TOML or JSON", name)
    if declared.kind in ("list", "lists"):
        return one.values
    if one.text is None:
        found = f"{len(one.values)} values; put the text in quotes" if one.values else "nothing"
        raise BadRequest(f"expected one value, found {found} ({declared.help})", name)
    return meant(name, one.text, declared)


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

"""Writes the XPath expression of a form: which local jobs have this state, host, user, time and words.

No value can become a part of the language: each is written as a text or as a number of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from jim.errors import BadRequest
from jim.reading.filters import TIME, Filter, Filters
from jim.reading.lists import STATES, time_of
from jim.reading.view import View

EXAMPLES = "2026-01-31, 2026-01-31T12:00Z, or an age: 2h, 3d"
FIELDS = {
    "state": Filter("the state of a local job", choices=STATES, once=True),
    "host": Filter("a host on which an attempt ran", "NAME", longest=255, once=True),
    "owner": Filter("the user whose grid job it is", "NAME", longest=255, once=True),
    "since": Filter(
        "changed at this time or later: 2026-01-31, 2026-01-31T12:00Z, or an age: 2h, 3d",
        "TIME",
        pattern=TIME,
        once=True,
    ),
    "until": Filter(f"changed before this time: {EXAMPLES}", "TIME", pattern=TIME, once=True),
    "words": Filter("words of the reason, in any order", "WORDS", longest=300, once=True),
}
RUNS = re.compile(r"'+|[^']+")


def is_filled(given: Filters) -> bool:
    """Tell whether any field of the form is filled in."""
    return any(name in FIELDS for name, _ in given.given)


def expression(view: View, given: Filters) -> str:
    """Return the expression that finds the states of these local jobs."""
    owner = f"[@owner = {literal(given.one('owner'))}]" if given.of("owner") else ""
    conditions = " and ".join(_conditions(view, given))
    return f"//jim:grid_job{owner}/jim:local_job{f'[{conditions}]' if conditions else ''}/@state"


def _conditions(view: View, given: Filters) -> Iterator[str]:
    if state := given.one("state"):
        yield f"@state = {literal(state)}"
    if host := given.one("host"):
        yield f"jim:attempt/@host = {literal(host)}"
    for name, sign in (("since", ">="), ("until", "<")):
        if text := given.one(name):
            yield f"@updated_s {sign} {_seconds(time_of(view, text))}"
    for word in given.one("words").split():
        yield from (f"contains(@reason, {literal(run)})" for run in _runs(word))


def literal(text: str) -> str:
    """Write a text as XPath has it; one with both kinds of quotation marks cannot be written."""
    mark = "'" if "'" not in text else '"'
    if mark in text:
        raise BadRequest(f"{text[:80]!r} has both kinds of quotation marks, which no text of XPath can have")
    return f"{mark}{text}{mark}"


def _runs(word: str) -> list[str]:
    """Return the parts of a word that can be written: it is whole, unless it has both kinds of quotation marks."""
    return RUNS.findall(word) if "'" in word and '"' in word else [word]


def _seconds(stored: str) -> int:
    then = datetime.fromisoformat(stored.removesuffix("Z"))
    return int((then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp())

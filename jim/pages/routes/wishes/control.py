"""/jobs/G/control/VERB: what a wish for a grid job would do now, and the button that leaves it, as `jim` does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flask import Flask

from jim.doors import inbox
from jim.evidence.transitions import FORCED_FROM
from jim.model import MOST_PRIORITY, Verb
from jim.pages.admission import DOING
from jim.pages.app import Pages
from jim.pages.routes.wishes.wishing import NUMBER, Asked, Kind, WishPages
from jim.reading.job.effects import Effect, effect, then
from jim.reading.view import View

FIELDS: Mapping[Verb, tuple[str, ...]] = {
    Verb.CANCEL: ("n",),
    Verb.RETRY: ("n", "failed", "reason", "max"),
    Verb.FORCE: ("n", "to", "reason"),
    Verb.SUSPEND: (),
    Verb.RESUME: (),
    Verb.PRIORITY: ("priority",),
}
NEEDED = {Verb.FORCE: ("n", "to", "reason"), Verb.PRIORITY: ("priority",)}
SLICES = re.compile(r"\d{1,8}(-\d{1,8})?(,\d{1,8}(-\d{1,8})?)*", re.ASCII)
MOST = 10_000_000


def _lacks(asked: Asked) -> str:
    needed = NEEDED.get(asked.verb, ())
    return "" if asked.given.keys() >= set(needed) else ", ".join(needed)


def _fits(name: str, value: str) -> bool:
    if name == "n":
        return bool(SLICES.fullmatch(value))
    if name in ("max", "priority"):
        least, most = (1, MOST) if name == "max" else (-MOST_PRIORITY, MOST_PRIORITY)
        return bool(NUMBER.fullmatch(value)) and least <= int(value) <= most
    return value in (("yes",) if name == "failed" else {state.value for state in FORCED_FROM})


def _target(asked: Asked) -> str:
    return f"{asked.name}.{asked.given['n']}" if "n" in asked.given else str(asked.name)


def _effect(view: View, asked: Asked) -> Effect:
    return effect(view, asked.verb, _target(asked), _more(asked))


def _facts(view: View, asked: Asked, would: Effect | None) -> dict[str, Any]:
    return {
        "job": view.grid_job(asked.name),
        "target": _target(asked),
        "n": asked.given.get("n", ""),
        "fields": [name for name in FIELDS[asked.verb] if name != "n" or asked.verb in NEEDED],
        "then": then(asked.verb, would),
        "states": [state.value for state in FORCED_FROM],
        "most_priority": MOST_PRIORITY,
    }


def _leave(state: Path, asked: Asked, by: str) -> None:
    inbox.wish(state, asked.verb, _target(asked), by=by, **_more(asked))


def _address(asked: Asked) -> str:
    n = asked.given.get("n", "")
    return f"jobs/{asked.name}{f'/{int(n)}' if n.isdecimal() else ''}"


def _more(asked: Asked) -> dict[str, Any]:
    """Return the other fields of a wish, as `jim` stores them."""
    given = asked.given
    if asked.verb is Verb.RETRY:
        most = int(given["max"]) if "max" in given else None
        return {"failed": "failed" in given, "reason": given.get("reason", ""), "most": most}
    if asked.verb is Verb.FORCE:
        return {"to": given.get("to"), "reason": given.get("reason")}
    return {"priority": int(given["priority"])} if asked.verb is Verb.PRIORITY and "priority" in given else {}


OF_GRID_JOBS = Kind(
    *(Verb, FIELDS, ("reason",), "/jobs/<G>", "control", DOING[0], "control.html"),
    *(_lacks, _fits, _target, _effect, _facts, _leave, _address),
)


def add(app: Flask, pages: Pages) -> None:
    """Add the pages, if the site file allows controls."""
    WishPages(app, pages, OF_GRID_JOBS)

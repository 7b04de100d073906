"""Checks what a wish for a task says: the same for all doors and for the keeper, as people may write wishes by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jim.errors import shown
from jim.model import MOST_PRIORITY
from jim.tasks.effects import TaskVerb

MOST = 999_999_999
BOUNDS = {
    "at_once": (0, MOST),
    "queued": (1, MOST),
    "first": (1, MOST),
    "pieces": (1, MOST),
    "most": (1, MOST),
    "priority": (-MOST_PRIORITY, MOST_PRIORITY),
}
NEEDED = {
    TaskVerb.ADD: ("items",),
    TaskVerb.DROP: ("items", "reason"),
    TaskVerb.FIX: ("changes",),
    TaskVerb.PRIORITY: ("priority",),
}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_numbers(value: object) -> bool:
    return isinstance(value, list) and all(type(each) is int and each >= 0 for each in value)


KINDS: dict[str, tuple[Callable[[object], bool], str]] = {
    **dict.fromkeys(("group", "reason"), (_is_text, "a text of one line")),
    "numbers": (_are_numbers, "a list of numbers of pieces"),
    **dict.fromkeys(("items",), (_are_texts, "a list of names that can be printed")),
    **dict.fromkeys(("changes", "parameters", "attributes"), (lambda value: isinstance(value, dict), "a table")),
    **dict.fromkeys(
        ("untested", "suspend", "kill", "reopen", "with_all", "stale"),
        (lambda value: isinstance(value, bool), "true or false"),
    ),
}


def unfit(verb: str, content: Mapping[str, Any]) -> str:
    """Return what is wrong with the fields of a wish; empty: nothing."""
    for name in NEEDED.get(TaskVerb(verb), ()):
        if name not in content:
            return f"{name}: missing"
    return next(filter(None, (_unfit(name, value) for name, value in content.items())), "")


def _unfit(name: str, value: object) -> str:
    if name in BOUNDS:
        return unfit_number(name, value)
    fits, what = KINDS.get(name, (bool, ""))
    return f"{name}: expected {what}, found {shown(value)}" if what and not fits(value) else ""


def unfit_number(name: str, value: object) -> str:
    """Return what is wrong with a number of a wish; empty: nothing."""
    least, most = BOUNDS[name]
    if not isinstance(value, int) or isinstance(value, bool):
        return f"{name}: expected a whole number, found {shown(value)}"
    if least < 0 and not least <= value <= most:
        return f"{shown(value)}: expected {least:,} to {most:,}"
    if value < least:
        return f"{name}={shown(value)}: must be {least} or more"
    return f"{name}={shown(value)}: must be at most {most:,}" if value > most else ""

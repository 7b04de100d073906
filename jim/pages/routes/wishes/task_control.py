"""/tasks/T/control/VERB: what a wish for a task would do now, and the button that leaves it, as `jim task` does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flask import Flask

from jim.doors import inbox
from jim.model import MOST_PRIORITY
from jim.pages.admission import DOING
from jim.pages.app import Pages
from jim.pages.routes.wishes.wishing import NUMBER, Asked, Kind, WishPages
from jim.reading.tasks.effects import OFFERED, TaskEffect, effect
from jim.reading.view import View
from jim.tasks.effects import POOL_VERBS, TaskVerb
from jim.tasks.file.wish_checks import unfit_number
from jim.tasks.throttle_row import NAMES

FIELDS: Mapping[TaskVerb, tuple[str, ...]] = {
    TaskVerb.TEST: ("pieces",),
    TaskVerb.START: ("untested",),
    TaskVerb.PAUSE: ("how",),
    TaskVerb.RESUME: (),
    TaskVerb.THROTTLE: NAMES,
    TaskVerb.PRIORITY: ("priority",),
    TaskVerb.RETRY: ("reason", "max"),
    TaskVerb.CANCEL: (),
    **{verb: ("group",) for verb in OFFERED if verb in POOL_VERBS},
}
CHOICES = {"untested": ("yes",), "how": ("suspend", "kill")}
TEXTS = ("group", "reason")
SAID = {"max": "most"}  # names of fields in wishes


def _lacks(asked: Asked) -> str:
    is_whole = asked.given or asked.verb not in (TaskVerb.THROTTLE, TaskVerb.PRIORITY)
    return "" if is_whole else " or ".join(FIELDS[asked.verb])


def _fits(name: str, value: str) -> bool:
    if name in CHOICES:
        return value in CHOICES[name]
    return bool(NUMBER.fullmatch(value)) and not unfit_number(SAID.get(name, name), int(value))


def _target(asked: Asked) -> str:
    return f"task:{asked.name}"


def _effect(view: View, asked: Asked) -> TaskEffect:
    return effect(view, asked.verb, view.store.tasks.named(asked.name), _content(asked))


def _facts(view: View, asked: Asked, would: TaskEffect | None) -> dict[str, Any]:
    task = view.store.tasks.named(asked.name)
    return {"task": task, "fields": FIELDS[asked.verb], "limits": NAMES, "most_priority": MOST_PRIORITY}


def _leave(state: Path, asked: Asked, by: str) -> None:
    inbox.task_wish(state, asked.verb, asked.name, by=by, **_content(asked))


def _address(asked: Asked) -> str:
    return f"tasks/{asked.name}"


def _content(asked: Asked) -> dict[str, Any]:
    """Return the fields of a wish, as `jim task` stores them."""
    given = {name: value if name in TEXTS or name in CHOICES else int(value) for name, value in asked.given.items()}
    if asked.verb is TaskVerb.PAUSE:
        return {str(given["how"]): True} if given else {}
    if asked.verb is TaskVerb.START:
        return {"untested": True} if given else {}
    return {SAID.get(name, name): value for name, value in given.items()}


OF_TASKS = Kind(
    *(TaskVerb, FIELDS, TEXTS, "/tasks/<TASK>", "control_task", DOING[1], "task_control.html"),
    *(_lacks, _fits, _target, _effect, _facts, _leave, _address),
)


def add(app: Flask, pages: Pages) -> None:
    """Add the pages, if the site file allows controls."""
    WishPages(app, pages, OF_TASKS)

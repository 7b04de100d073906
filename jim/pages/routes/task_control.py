"""/tasks/T/control/VERB: what a wish for a task would do now, and the button that leaves it, as `jim task` does."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from flask import Flask, Response, g, redirect, request
from werkzeug.datastructures import MultiDict

from jim.doors import inbox
from jim.errors import LONGEST_REASON, BadRequest
from jim.model import MOST_PRIORITY
from jim.pages.addresses import in_full
from jim.pages.admission import DOING, require_control
from jim.pages.app import DOCUMENT_SECONDS, Pages
from jim.pages.made import as_json
from jim.pages.routes.control import AGAIN, NUMBER, OF_FORM, never_kept, numbers, require_own_form
from jim.pages.shown import visible
from jim.reading.job.effects import grown
from jim.reading.tasks.effects import OFFERED, TaskEffect, effect
from jim.reading.view import View
from jim.statusdb.task_rows import Task
from jim.tasks.effects import POOL_VERBS, TaskVerb
from jim.tasks.file.wish_checks import unfit_number
from jim.tasks.throttle import NAMES

log = logging.getLogger(__name__)
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


class Asked(NamedTuple):
    """A wish for a task as someone wrote it into the address or the form of a page."""

    verb: TaskVerb
    name: str
    given: Mapping[str, str]

    @property
    def content(self) -> dict[str, Any]:
        """Return the fields as `jim task` stores them."""
        given = {name: value if name in TEXTS or name in CHOICES else int(value) for name, value in self.given.items()}
        if self.verb is TaskVerb.PAUSE:
            return {str(given["how"]): True} if given else {}
        if self.verb is TaskVerb.START:
            return {"untested": True} if given else {}
        return {SAID.get(name, name): value for name, value in given.items()}

    @property
    def whole(self) -> bool:
        """Tell whether nothing is left to say."""
        return bool(self.given) or self.verb not in (TaskVerb.THROTTLE, TaskVerb.PRIORITY)


def add(app: Flask, pages: Pages) -> None:
    """Add the pages, if the site file allows controls."""
    if not pages.access.controls:
        return
    rule = in_full(f"/tasks/<TASK>/control/<any({','.join(FIELDS)}):verb>")
    app.add_url_rule(rule, "control_task", lambda task, verb: confirm(pages, task, verb))
    app.add_url_rule(f"{rule}.json", "control_task.json", lambda task, verb: told(pages, task, verb))
    app.add_url_rule(f"{rule}/do", DOING[1], lambda task, verb: do(pages, task, verb), methods=["GET", "POST"])


def confirm(pages: Pages, task: str, verb: str) -> Response:
    """Show what a wish would do now; nothing is done."""
    require_control()
    return _shown(pages, _asked(verb, task, request.args))


def told(pages: Pages, task: str, verb: str) -> Response:
    """Return the same for programs, with what the form has to send."""
    require_control()
    asked = _whole(_asked(verb, task, request.args))
    with pages.viewing(DOCUMENT_SECONDS) as view:
        would = _effect(view, asked)
    fields = {**asked.given, "shown": json.dumps(would.hit), "form": pages.forms.made(g.client)}
    facts = {"target": f"task:{task}", "late": would.late, "words": would.words, "hit": would.hit, "form": fields}
    return never_kept(Response(as_json(facts).body, content_type="application/json"))


def do(pages: Pages, task: str, verb: str) -> Response:
    """Leave the wish, if no more would be hit than the page has shown."""
    require_control()
    require_own_form(pages)
    asked = _whole(_asked(verb, task, request.form))
    shown = numbers(request.form.get("shown", ""))
    with pages.viewing(DOCUMENT_SECONDS) as view:
        would, state = _effect(view, asked), view.site.state
    if would.late or grown(shown, would.hit):
        return _shown(pages, asked, AGAIN if would.words else "", 409)
    inbox.task_wish(state, asked.verb, task, by=f"{g.who}, by the pages", **asked.content)
    pages.wake(state)
    log.warning("%s of task %s requested by %s: %s", verb, task, visible(g.who), would.words)
    response: Any = redirect(f"{g.root}/tasks/{task}", 303)
    return response  # type: ignore[no-any-return]


def _effect(view: View, asked: Asked) -> TaskEffect:
    return effect(view, asked.verb, view.store.tasks.named(asked.name), asked.content)


def _whole(asked: Asked) -> Asked:
    if not asked.whole:
        raise BadRequest(f"{asked.verb} needs {' or '.join(FIELDS[asked.verb])}")
    return asked


def _asked(verb: str, task: str, given: MultiDict[str, str]) -> Asked:
    """Read the fields of a wish; refuse those that it does not have."""
    fields = FIELDS[TaskVerb(verb)]
    unknown = given.keys() - {*fields, *OF_FORM}
    if unknown:
        raise BadRequest(f"unknown field {min(unknown)[:80]!r} (known: {', '.join(fields) or 'none'})")
    told = {name: given[name].strip() for name in fields if given.get(name, "").strip()}
    for name, value in told.items():
        if not _fits(name, value):
            raise BadRequest(f"{name} cannot be {value[:80]!r}")
    return Asked(TaskVerb(verb), task, told)


def _fits(name: str, value: str) -> bool:
    if name in CHOICES:
        return value in CHOICES[name]
    if name in TEXTS:
        return len(value) <= LONGEST_REASON and value.isprintable()
    return bool(NUMBER.fullmatch(value)) and not unfit_number(SAID.get(name, name), int(value))


def _shown(pages: Pages, asked: Asked, again: str = "", status: int = 200) -> Response:
    with pages.viewing(DOCUMENT_SECONDS) as view:
        task = view.store.tasks.named(asked.name)
        would = _effect(view, asked) if asked.whole else None
        made = pages.html(view, "task_control.html", **_facts(pages, task, asked, would, again))
    return never_kept(Response(made.body, status, content_type=made.kind))


def _facts(pages: Pages, task: Task, asked: Asked, would: TaskEffect | None, again: str) -> dict[str, Any]:
    return {
        "task": task,
        "asked": asked,
        "would": would,
        "again": again,
        "fields": FIELDS[asked.verb],
        "limits": NAMES,
        "form": pages.forms.made(g.client),
        "shown": json.dumps(dict(would.hit)) if would else "",
        "most_priority": MOST_PRIORITY,
    }

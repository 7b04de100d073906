"""Pages that change something: what a wish would do now, and the button that leaves the wish in the inbox.

control.py and task_control.py say which wishes there are, for grid jobs and for tasks. aside.py is for what the keeper
need not know.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from flask import Flask, Response, g, redirect, request
from werkzeug.datastructures import MultiDict

from jim.errors import LONGEST_REASON, BadRequest
from jim.pages.addresses import in_full
from jim.pages.admission import require_control
from jim.pages.app import DOCUMENT_SECONDS, Pages
from jim.pages.made import as_json
from jim.pages.refusals import Refused
from jim.pages.shown import visible
from jim.reading.job.effects import grown
from jim.reading.view import View

log = logging.getLogger(__name__)
OF_FORM = ("form", "shown")
NUMBER = re.compile(r"-?\d{1,8}", re.ASCII)
AGAIN = "Meanwhile the numbers have grown, so nothing was done. Look again:"


class Asked(NamedTuple):
    """A wish as someone wrote it into the address or the form of a page: for a grid job, or for a task by its name."""

    verb: Any  # a Verb or a TaskVerb
    name: Any
    given: Mapping[str, str]


class Kind(NamedTuple):
    """The wishes for one kind of thing."""

    verbs: Callable[[str], Any]
    fields: Mapping[Any, tuple[str, ...]]
    texts: tuple[str, ...]  # the fields that may have any words
    rule: str  # the address of the thing
    endpoint: str
    doing: str  # the endpoint that takes the form
    template: str
    lacks: Callable[[Asked], str]  # what is left to say before a wish is whole
    fits: Callable[[str, str], bool]  # whether a field that is not a text may have a value
    target: Callable[[Asked], str]  # what a wish is for, as programs name it
    effect: Callable[[View, Asked], Any]  # what a wish would do now
    facts: Callable[[View, Asked, Any], dict[str, Any]]  # what the page shows beside
    leave: Callable[[Path, Asked, str], None]  # into the inbox
    address: Callable[[Asked], str]  # of the page on which its effect will be seen
    wakes: bool = True  # whether the keeper has to know


class WishPages:
    """The pages of wishes for one kind of thing."""

    def __init__(self, app: Flask, pages: Pages, kind: Kind) -> None:
        """Add the pages, if the site file allows controls."""
        self._pages, self._kind = pages, kind
        if pages.access.controls:
            rule = in_full(f"{kind.rule}/control/<any({','.join(kind.fields)}):verb>")
            app.add_url_rule(rule, kind.endpoint, self.confirm)
            app.add_url_rule(f"{rule}.json", f"{kind.endpoint}.json", self.told)
            app.add_url_rule(f"{rule}/do", kind.doing, self.do, methods=["GET", "POST"])

    def confirm(self, verb: str, **name: Any) -> Response:
        """Show what a wish would do now; nothing is done."""
        require_control()
        return self._shown(self._asked(verb, name, request.args))

    def told(self, verb: str, **name: Any) -> Response:
        """Return the same for programs, with what the form has to send."""
        require_control()
        asked = self._whole(verb, name, request.args)
        with self._pages.viewing(DOCUMENT_SECONDS) as view:
            would = self._kind.effect(view, asked)
        fields = {**asked.given, "shown": json.dumps(dict(would.hit)), "form": self._pages.forms.made(g.client)}
        facts = {"target": self._kind.target(asked), "late": would.late, "words": would.words, "hit": dict(would.hit)}
        return _never_kept(Response(as_json({**facts, "form": fields}).body, content_type="application/json"))

    def do(self, verb: str, **name: Any) -> Response:
        """Leave the wish, if no more would be hit than the page has shown."""
        require_control()
        _require_own_form(self._pages)
        asked = self._whole(verb, name, request.form)
        shown = _numbers(request.form.get("shown", ""))
        with self._pages.viewing(DOCUMENT_SECONDS) as view:
            would, state = self._kind.effect(view, asked), view.site.state
        if would.late or grown(shown, would.hit):
            return self._shown(asked, AGAIN if would.words else "", 409)
        self._kind.leave(state, asked, f"{g.who}, by the pages")
        if self._kind.wakes:
            self._pages.wake(state)
        log.warning("%s of %s requested by %s: %s", verb, self._kind.target(asked), visible(g.who), would.words)
        response: Any = redirect(f"{g.root}/{self._kind.address(asked)}", 303)
        return response  # type: ignore[no-any-return]

    def _whole(self, verb: str, name: Mapping[str, Any], given: MultiDict[str, str]) -> Asked:
        asked = self._asked(verb, name, given)
        if lacking := self._kind.lacks(asked):
            raise BadRequest(f"{verb} needs {lacking}")
        return asked

    def _asked(self, verb: str, name: Mapping[str, Any], given: MultiDict[str, str]) -> Asked:
        """Read the fields of a wish; refuse those that it does not have."""
        fields = self._kind.fields[self._kind.verbs(verb)]
        unknown = given.keys() - {*fields, *OF_FORM}
        if unknown:
            raise BadRequest(f"unknown field {min(unknown)[:80]!r} (known: {', '.join(fields) or 'none'})")
        values = {field: given[field].strip() for field in fields if given.get(field, "").strip()}
        for field, value in values.items():
            is_text = field in self._kind.texts
            if not (len(value) <= LONGEST_REASON and value.isprintable() if is_text else self._kind.fits(field, value)):
                raise BadRequest(f"{field} cannot be {value[:80]!r}")
        (of,) = name.values()
        return Asked(self._kind.verbs(verb), of, values)

    def _shown(self, asked: Asked, again: str = "", status: int = 200) -> Response:
        with self._pages.viewing(DOCUMENT_SECONDS) as view:
            would = None if self._kind.lacks(asked) else self._kind.effect(view, asked)
            shown = json.dumps(dict(would.hit)) if would else ""
            facts = {"asked": asked, "would": would, "again": again, "form": self._pages.forms.made(g.client)}
            made = self._pages.html(
                view, self._kind.template, **facts, shown=shown, **self._kind.facts(view, asked, would)
            )
        return _never_kept(Response(made.body, status, content_type=made.kind))


def _require_own_form(pages: Pages) -> None:
    """Refuse what does not come from the form of a page of this session."""
    if request.method != "POST":
        raise Refused(405, "this address takes only the form of its page; nothing was done", Allow="POST")
    origin, own = request.headers.get("Origin", ""), pages.access.origin(request.host, _header)
    by_program = not origin and g.client.startswith("bearer ")  # no browser adds a token to what another site sends
    if origin != own and not by_program:
        raise Refused(
            403, f"this form was sent from {origin[:200] or 'an unknown place'}, not from {own}; nothing was done"
        )
    if wrong := pages.forms.wrong(request.form.get("form", ""), g.client):
        raise Refused(403, f"this form is not accepted: {wrong}; nothing was done. Open the page again")


def _header(name: str) -> str:
    return request.headers.get(name, "")


def _numbers(text: str) -> dict[str, int]:
    """Read the numbers that the page has shown."""
    try:
        return {str(name): int(count) for name, count in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise BadRequest("the form lacks the numbers that its page has shown") from error


def _never_kept(response: Response) -> Response:
    """Let no browser keep an answer that has the token of a form."""
    response.headers["Cache-Control"] = "private, no-store"
    return response

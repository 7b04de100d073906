"""/jobs/G/control/VERB: what a wish would do now, and the button that leaves the wish in the inbox, as `jim` does."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from flask import Flask, Response, g, redirect, request
from werkzeug.datastructures import MultiDict

from jim.doors import inbox
from jim.errors import LONGEST_REASON, BadRequest
from jim.evidence.transitions import FORCED_FROM
from jim.model import MOST_PRIORITY, Verb
from jim.pages.addresses import in_full
from jim.pages.admission import DOING, require_control
from jim.pages.app import DOCUMENT_SECONDS, Pages
from jim.pages.made import as_json
from jim.pages.refusals import Refused
from jim.pages.shown import visible
from jim.reading.job.effects import Effect, effect, grown, then
from jim.reading.view import View

log = logging.getLogger(__name__)
FIELDS: Mapping[Verb, tuple[str, ...]] = {
    Verb.CANCEL: ("n",),
    Verb.RETRY: ("n", "failed", "reason", "max"),
    Verb.FORCE: ("n", "to", "reason"),
    Verb.SUSPEND: (),
    Verb.RESUME: (),
    Verb.PRIORITY: ("priority",),
}
NEEDED = {Verb.FORCE: ("n", "to", "reason"), Verb.PRIORITY: ("priority",)}
OF_FORM = ("form", "shown")
SLICES = re.compile(r"\d{1,8}(-\d{1,8})?(,\d{1,8}(-\d{1,8})?)*", re.ASCII)
NUMBER = re.compile(r"-?\d{1,8}", re.ASCII)
MOST = 10_000_000
AGAIN = "Meanwhile the numbers have grown, so nothing was done. Look again:"


class Asked(NamedTuple):
    """A wish as someone wrote it into the address or the form of a page."""

    verb: Verb
    number: int
    given: Mapping[str, str]

    @property
    def target(self) -> str:
        """Return the grid job, or its local jobs, that the wish is for."""
        return f"{self.number}.{self.given['n']}" if "n" in self.given else str(self.number)

    @property
    def more(self) -> dict[str, Any]:
        """Return the other fields, as `jim` stores them."""
        given = self.given
        if self.verb is Verb.RETRY:
            most = int(given["max"]) if "max" in given else None
            return {"failed": "failed" in given, "reason": given.get("reason", ""), "most": most}
        if self.verb is Verb.FORCE:
            return {"to": given.get("to"), "reason": given.get("reason")}
        return {"priority": int(given["priority"])} if self.verb is Verb.PRIORITY and "priority" in given else {}

    @property
    def whole(self) -> bool:
        """Tell whether nothing is left to say."""
        return all(name in self.given for name in NEEDED.get(self.verb, ()))


def add(app: Flask, pages: Pages) -> None:
    """Add the pages, if the site file allows controls."""
    if not pages.access.controls:
        return
    rule = in_full(f"/jobs/<G>/control/<any({','.join(FIELDS)}):verb>")
    app.add_url_rule(rule, "control", lambda number, verb: confirm(pages, number, verb))
    app.add_url_rule(f"{rule}.json", "control.json", lambda number, verb: told(pages, number, verb))
    app.add_url_rule(f"{rule}/do", DOING[0], lambda number, verb: do(pages, number, verb), methods=["GET", "POST"])


def confirm(pages: Pages, number: int, verb: str) -> Response:
    """Show what a wish would do now; nothing is done."""
    require_control()
    return _shown(pages, _asked(verb, number, request.args))


def told(pages: Pages, number: int, verb: str) -> Response:
    """Return the same for programs, with what the form has to send."""
    require_control()
    asked = _asked(verb, number, request.args)
    if not asked.whole:
        raise BadRequest(f"{verb} needs {', '.join(NEEDED[asked.verb])}")
    with pages.viewing(DOCUMENT_SECONDS) as view:
        would = effect(view, asked.verb, asked.target, asked.more)
    fields = {**asked.given, "shown": json.dumps(would.hit), "form": pages.forms.made(g.client)}
    facts = {"target": asked.target, "late": would.late, "words": would.words, "hit": dict(would.hit), "form": fields}
    return never_kept(Response(as_json(facts).body, content_type="application/json"))


def do(pages: Pages, number: int, verb: str) -> Response:
    """Leave the wish, if no more local jobs would be hit than the page has shown."""
    require_control()
    require_own_form(pages)
    asked = _asked(verb, number, request.form)
    if not asked.whole:
        raise BadRequest(f"{verb} needs {', '.join(NEEDED[asked.verb])}")
    shown = numbers(request.form.get("shown", ""))
    with pages.viewing(DOCUMENT_SECONDS) as view:
        would, state = effect(view, asked.verb, asked.target, asked.more), view.site.state
    if would.late or grown(shown, would.hit):
        return _shown(pages, asked, AGAIN if would.words else "", 409)
    inbox.wish(state, asked.verb, asked.target, by=f"{g.who}, by the pages", **asked.more)
    pages.wake(state)
    log.warning("%s of %s requested by %s: %s", verb, asked.target, visible(g.who), would.words)
    one = asked.given.get("n", "")
    response: Any = redirect(f"{g.root}/jobs/{number}{f'/{int(one)}' if one.isdecimal() else ''}", 303)
    return response  # type: ignore[no-any-return]


def require_own_form(pages: Pages) -> None:
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


def _asked(verb: str, number: int, given: MultiDict[str, str]) -> Asked:
    """Read the fields of a wish; refuse those that it does not have."""
    fields = FIELDS[Verb(verb)]
    unknown = given.keys() - {*fields, *OF_FORM}
    if unknown:
        raise BadRequest(f"unknown field {min(unknown)[:80]!r} (known: {', '.join(fields) or 'none'})")
    told = {name: given[name].strip() for name in fields if given.get(name, "").strip()}
    for name, value in told.items():
        if not _fits(name, value):
            raise BadRequest(f"{name} cannot be {value[:80]!r}")
    return Asked(Verb(verb), number, told)


def _fits(name: str, value: str) -> bool:
    if name == "n":
        return bool(SLICES.fullmatch(value))
    if name in ("max", "priority"):
        least, most = (1, MOST) if name == "max" else (-MOST_PRIORITY, MOST_PRIORITY)
        return bool(NUMBER.fullmatch(value)) and least <= int(value) <= most
    if name in ("to", "failed"):
        return value in (("yes",) if name == "failed" else {state.value for state in FORCED_FROM})
    return len(value) <= LONGEST_REASON and value.isprintable()


def numbers(text: str) -> dict[str, int]:
    """Read the numbers that the page has shown."""
    try:
        return {str(name): int(count) for name, count in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise BadRequest("the form lacks the numbers that its page has shown") from error


def _shown(pages: Pages, asked: Asked, again: str = "", status: int = 200) -> Response:
    with pages.viewing(DOCUMENT_SECONDS) as view:
        would = effect(view, asked.verb, asked.target, asked.more) if asked.whole else None
        made = pages.html(view, "control.html", **_facts(pages, view, asked, would, again))
    return never_kept(Response(made.body, status, content_type=made.kind))


def _facts(pages: Pages, view: View, asked: Asked, would: Effect | None, again: str) -> dict[str, Any]:
    return {
        "job": view.grid_job(asked.number),
        "asked": asked,
        "n": asked.given.get("n", ""),
        "would": would,
        "again": again,
        "fields": [name for name in FIELDS[asked.verb] if name != "n" or asked.verb in NEEDED],
        "then": then(asked.verb, would),
        "form": pages.forms.made(g.client),
        "shown": json.dumps(dict(would.hit)) if would else "",
        "states": [state.value for state in FORCED_FROM],
        "most_priority": MOST_PRIORITY,
    }


def never_kept(response: Response) -> Response:
    """Let no browser keep an answer that has the token of a form."""
    response.headers["Cache-Control"] = "private, no-store"
    return response

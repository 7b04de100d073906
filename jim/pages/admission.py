"""Decides about each request: who asks, with which role, and what that role may not see."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from flask import Response, g, redirect, request
from werkzeug.exceptions import NotFound

from jim.doors.inbox import account
from jim.errors import JimError
from jim.jobs import Journal, public
from jim.pages.access import NOBODY, Access, Rates
from jim.pages.proxied import Proxied
from jim.pages.refusals import Refused
from jim.pages.tokens import Role, Tokens
from jim.reading.tasks.hindrances import PLACES
from jim.reading.tasks.records import TaskInDetail, TaskSeen

LASTING = "lasting-"  # begins the name of a session that a long-lived token has begun
HEALTH = "healthz"
OPEN = (HEALTH, "static")  # the endpoints that need no session; refusals have the style of all pages
DOING = ("do", "do_task", "do_aside", "do_aside_task")  # the endpoints that take a form
ELSEWHERE = re.compile(r"[/\\]{2}|[^/]")  # paths that browsers take for the address of another site
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # browsers leave some out, logs and terminals obey others
LONGEST_LINE = 8 * 1024
UNSEEN = {"request", "result", "piece", "last_lines"}  # of documents, by the role `see`
UNSEEN_OF_TASK = {"file", "file_differs", "sources", "journal", "fixes"}
OF_REQUEST = (
    "edit",
    "edit changes nothing",
    "looked up",
)  # lines of the journal whose reasons tell attributes of the request


class Known(NamedTuple):
    """Who asks."""

    client: str = NOBODY  # has limits of its own
    role: Role = Role.SEE
    who: str = ""  # for the log and the journal
    fresh: bool = True  # logged in lately enough to control


def admit(access: Access | Proxied, tokens: Tokens, rates: Rates) -> Response | None:
    """Admit only whom the site allows; refuse all other requests."""
    g.began, g.client, g.role, g.who, g.root = time.monotonic(), NOBODY, Role.SEE, "", ""
    g.counted = NOBODY  # whose limit a refused request counts for
    g.reached = False  # whether whoever asks may have the style of a page
    try:
        _require_own(access)
        _require_sound()
        known = _known(access, tokens)
    except JimError:
        _require_calm(rates, g.counted)
        raise
    role = known.role if access.controls or known.role is not Role.CONTROL else Role.LOOK
    g.client, g.role, g.who, g.fresh = known.client, role, known.who, known.fresh
    _require_calm(rates, g.client)
    token = request.args.get("token")
    if token is not None and request.endpoint not in OPEN:
        return _with_token(access, tokens, token)
    if g.client == NOBODY and request.endpoint not in OPEN:
        raise _unknown(access)
    return None


def _require_calm(rates: Rates, client: str) -> None:
    """Refuse a client that asks too often; what is refused for another reason counts, too."""
    if not rates.take(client):
        raise Refused(429, "too many requests; wait a second", **{"Retry-After": "1"})


def _unknown(access: Access | Proxied) -> Refused:
    if isinstance(access, Proxied):
        return Refused(401, f"the web server has named no user in {access.settings.user_header}")
    return Refused(401, "these pages need the address that `jim pages` prints; it works once, for one browser")


def _header(name: str) -> str:
    return request.headers.get(name, "")


def _require_own(access: Access | Proxied) -> None:
    """Refuse requests from elsewhere."""
    if not access.is_own_host(_header("Host")):
        raise Refused(421, "these pages answer only at a name of this machine itself, such as localhost")
    if not access.is_own_peer(request.environ):
        raise Refused(403, "these pages answer only the account that has started them")
    g.root, g.reached = access.root(_header), True


def _require_sound() -> None:
    """Refuse requests that nobody may make."""
    _require_method()
    if len(request.full_path) > LONGEST_LINE:
        raise Refused(414, "this address is too long")
    if CONTROL.search(request.path):
        raise Refused(400, "an address has no control characters")


def _require_method() -> None:
    """Refuse what is sent to a page that can only be read; an address of nothing is answered like one later."""
    nowhere = isinstance(request.routing_exception, NotFound)
    if request.method in ("GET", "HEAD") or (request.method == "POST" and (nowhere or request.endpoint in DOING)):
        return
    raise Refused(405, "this page can only be read", Allow="GET, HEAD")


def _known(access: Access | Proxied, tokens: Tokens) -> Known:
    """Return who asks, and what role they have: by a bearer token, or by the cookie of a session."""
    scheme, _, secret = _header("Authorization").partition(" ")
    if scheme.lower() == "bearer":
        token = tokens.of(secret.strip())
        return Known(f"bearer {token.name}", token.role, f"token {token.name}") if token else Known()
    if isinstance(access, Proxied):
        return _user(access)
    cookie = request.cookies.get(access.cookie, "")
    name = access.session(cookie)
    if not name:
        return Known()
    if not name.startswith(LASTING):
        return Known(name, Role.CONTROL, account(), access.is_fresh(cookie))
    token = tokens.named(name.removeprefix(LASTING).partition("-")[0])
    return Known(name, token.role, f"token {token.name}", access.is_fresh(cookie)) if token else Known()


def _user(access: Proxied) -> Known:
    """Return the user whom the web server names, and the role that the site file gives."""
    user, role = access.user(_header)
    if role is None and user != NOBODY and request.endpoint not in OPEN:
        g.counted = f"user {user}"
        raise Refused(403, f"the user {user} has no role here: the site file names those who have one, in [pages]")
    return Known(f"user {user}", role or Role.SEE, user) if user else Known()


def _with_token(access: Access | Proxied, tokens: Tokens, secret: str) -> Response:
    """Begin a session, and redirect to the same page without the token."""
    token = tokens.of(secret)
    if token:
        cookie = access.begun(f"{LASTING}{token.name}-{secrets.token_hex(8)}")
    else:
        cookie = "" if g.client and g.fresh else access.begin(secret)
    if not cookie and not g.client:
        raise Refused(401, "this address was used before: start `jim pages` again for a new one")
    rest = [(name, value) for name, value in request.args.items(multi=True) if name != "token"]
    path = "/" if ELSEWHERE.match(request.path) else quote(request.path)
    response: Any = redirect(f"{g.root}{path}{f'?{urlencode(rest)}' if rest else ''}", 303)
    if cookie:
        response.set_cookie(access.cookie, cookie, max_age=30 * 86_400, httponly=True, samesite="Strict")
    return response  # type: ignore[no-any-return]


def require_control() -> None:
    """Answer like a page that does not exist, if whoever asks may not control; refuse an old session."""
    if g.role is not Role.CONTROL:
        raise NotFound
    if not g.fresh:
        words = "this session began more than 12 hours ago, so it can only read: start `jim pages` again, and open the "
        raise Refused(403, f"{words}address that it prints")


def require_look() -> None:
    """Answer like a page that does not exist, if the role of whoever asks is only to see states."""
    if g.role is Role.SEE:
        raise NotFound


def seen_by(role: Role, document: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a job without what the role may not see, and without what no page shows."""
    document = {name: value for name, value in document.items() if role is not Role.SEE or name not in UNSEEN}
    for name in (UNSEEN - {"last_lines"}) & document.keys():
        document[name] = {each: public(value) for each, value in document[name].items()}
    if role is Role.SEE and "attempts" in document:
        document["attempts"] = [{**each, "record": None} for each in document["attempts"]]
    document["journal"] = [{**each, "reason": _seen(role, each["now"], each["reason"])} for each in document["journal"]]
    return document


def seen_of_task(task: TaskSeen) -> TaskSeen:
    """Return a task without what whoever asks may not see, such as the place of a full store."""
    if g.role is not Role.SEE:
        return task
    hidden = {each.words for each in task.hindrances if each.kind in PLACES}
    left = [each for each in task.hindrances if each.kind not in PLACES]
    reason = next((each.words for each in left), "") if task.reason in hidden else task.reason
    return task._replace(hindrances=left, reason=reason)


def document_of_task(detail: TaskInDetail) -> dict[str, Any]:
    """Return the document of a task without what whoever asks may not see."""
    document = detail._replace(task=seen_of_task(detail.task)).to_record()
    return {name: value for name, value in document.items() if g.role is not Role.SEE or name not in UNSEEN_OF_TASK}


def seen_lines(lines: Iterable[Journal]) -> list[Journal]:
    """Return lines of a journal as whoever asks may see them."""
    return [each._replace(reason=_seen(g.role, each.now, each.reason)) for each in lines]


def _seen(role: Role, now: str, reason: str) -> str:
    return "" if role is Role.SEE and now in OF_REQUEST else reason

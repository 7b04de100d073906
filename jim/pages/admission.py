"""Decides about each request: who asks, with which role, and what that role may not see."""

from __future__ import annotations

import re
import secrets
import time
from typing import Any
from urllib.parse import urlencode

from flask import Response, g, redirect, request
from werkzeug.exceptions import NotFound

from jim.pages.access import NOBODY, USER, Access, Proxied, Rates
from jim.pages.refusals import Refused
from jim.pages.tokens import Role, Tokens

LASTING = "lasting-"  # begins the name of a session that a long-lived token has begun
OPEN = "healthz"  # the one endpoint that needs no session
ELSEWHERE = re.compile(r"[/\\]{2}|[^/]")  # paths that browsers take for the address of another site
LONGEST_LINE = 8 * 1024
UNSEEN = ("request", "result", "piece")  # of documents, by the role `see`


def admit(access: Access | Proxied, tokens: Tokens, rates: Rates) -> Response | None:
    """Admit only the account that started the pages; refuse all other requests."""
    g.began, g.client, g.role = time.monotonic(), NOBODY, Role.SEE
    _require_sound(access)
    g.client, g.role = _known(access, tokens)
    if not rates.take(g.client):
        raise Refused(429, "too many requests; wait a second", **{"Retry-After": "1"})
    token = request.args.get("token")
    if token is not None and request.endpoint != OPEN:
        return _with_token(access, tokens, token)
    if g.client == NOBODY and request.endpoint != OPEN:
        raise _unknown(access)
    return None


def _unknown(access: Access | Proxied) -> Refused:
    if isinstance(access, Proxied):
        return Refused(401, f"the web server has named no user in {USER}")
    return Refused(401, "these pages need the address that `jim pages` prints; it works once, for one browser")


def _require_sound(access: Access | Proxied) -> None:
    """Refuse requests that nobody may make."""
    if request.method not in ("GET", "HEAD"):
        raise Refused(405, "these pages can only be read", Allow="GET, HEAD")
    if len(request.full_path) > LONGEST_LINE:
        raise Refused(414, "this address is too long")
    if not access.is_own_host(request.headers.get("Host", "")):
        raise Refused(421, "these pages answer only at a name of this machine itself, such as localhost")
    if not access.is_own_peer(request.environ):
        raise Refused(403, "these pages answer only the account that has started them")


def _known(access: Access | Proxied, tokens: Tokens) -> tuple[str, Role]:
    """Return who asks, and what role they have: by a bearer token, or by the cookie of a session."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        token = tokens.of(secret.strip())
        return (f"bearer {token.name}", token.role) if token else (NOBODY, Role.SEE)
    if isinstance(access, Proxied):
        return _user(access)
    name = access.session(request.cookies.get(access.cookie, ""))
    if not name.startswith(LASTING):
        return name, Role.LOOK
    token = tokens.named(name.removeprefix(LASTING).partition("-")[0])
    return (name, token.role) if token else (NOBODY, Role.SEE)


def _user(access: Proxied) -> tuple[str, Role]:
    """Return the user whom the web server names, and the role that the site file gives."""
    user, role = access.user(lambda name: request.headers.get(name, ""))
    if role is None and user != NOBODY and request.endpoint != OPEN:
        raise Refused(403, f"{user} has no role here: the site file names those who have, in [pages] see and look")
    return (f"user {user}" if user else NOBODY), role or Role.SEE


def _with_token(access: Access | Proxied, tokens: Tokens, secret: str) -> Response:
    """Begin a session, and redirect to the same page without the token."""
    token = tokens.of(secret)
    if token:
        cookie = access.begun(f"{LASTING}{token.name}-{secrets.token_hex(8)}")
    else:
        cookie = "" if g.client else access.begin(secret)
    if not cookie and not g.client:
        raise Refused(401, "this address was used before: start `jim pages` again for a new one")
    rest = [(name, value) for name, value in request.args.items(multi=True) if name != "token"]
    where = f"{request.path}{f'?{urlencode(rest)}' if rest else ''}"
    response: Any = redirect("/" if ELSEWHERE.match(where) else where, 303)
    if cookie:
        response.set_cookie(access.cookie, cookie, max_age=30 * 86_400, httponly=True, samesite="Strict")
    return response  # type: ignore[no-any-return]


def require_look() -> None:
    """Answer like a page that does not exist, if the role of whoever asks is only to see states."""
    if g.role is Role.SEE:
        raise NotFound


def seen_by(role: Role, document: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a job without what the role may not see."""
    if role is not Role.SEE:
        return document
    document = {name: value for name, value in document.items() if name not in UNSEEN}
    if "attempts" in document:
        document["attempts"] = [{**each, "record": None} for each in document["attempts"]]
    return document

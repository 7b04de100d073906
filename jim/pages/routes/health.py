"""/healthz: the health of the store and the keeper. The page needs no session, and shows no names."""

from __future__ import annotations

from flask import Flask, Response

from jim.errors import JimError
from jim.pages.admission import HEALTH
from jim.pages.app import Pages
from jim.pages.made import TEXT
from jim.reading.site.site_view import health


def add(app: Flask, pages: Pages) -> None:
    """Add the page."""
    app.add_url_rule("/healthz", HEALTH, lambda: healthz(pages))


def healthz(pages: Pages) -> Response:
    """Report in one line whether the store can be read, and whether a keeper runs if there is work."""
    try:
        with pages.viewing() as view:
            seen = health(view)
    except (JimError, OSError):  # also a store of a newer JIM
        return Response("the status DB cannot be read\n", 503, content_type=TEXT)
    if seen.unfinished and not seen.heart.at_work:
        return Response("no keeper is at work, and there is unfinished work\n", 503, content_type=TEXT)
    return Response("ok\n", 200, content_type=TEXT)

"""Shows errors as pages: the failure, the data that is still known, and advice."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from flask import Response, g, render_template, request
from werkzeug.exceptions import HTTPException

from jim.errors import BadRequest, Damaged, JimError, StoreError, TooLong, UnknownJob
from jim.pages.access import NOBODY
from jim.pages.made import HTML, JSON
from jim.pages.shown import visible
from jim.pages.tokens import Role
from jim.reading.documents.files import Gone
from jim.site import file as site_file

log = logging.getLogger(__name__)
OF_GRID_JOB = "Grid jobs are removed some time after they have ended; the page Site says after how many days."
OWN_CONTROLS = "The page of a grid job, local job or task shows its controls; `jim` and `jim task` have the others."
SWITCH = "controls need the role `control`, and `controls = true` in [pages] of the site file"
OF_TASK = "A task stays until somebody removes it with `jim task remove`; the page Tasks lists all that are there."


class Refused(JimError):
    """A refused request, with its HTTP status."""

    def __init__(self, status: int, words: str, **headers: str) -> None:
        super().__init__(words)
        self.status, self.headers = status, headers


def failed(error: Exception, removed_at: Callable[[int], str]) -> Response:
    """Return the page or document for an error."""
    status, said, todo = _told(error)
    if status == 404 and (at := _removed_at(removed_at)):
        status, said = 410, f"this grid job was removed {at}: it had ended longer ago than this site keeps grid jobs"
    if status >= 500 and not isinstance(error, JimError):
        log.error("%s %s: %s", request.method, visible(request.path), error, exc_info=error)
    facts = {"status": status, "phrase": HTTPStatus(status).phrase, "said": said, "todo": todo}
    if request.path.endswith(".json"):
        document = {"error": said, "status": status, "todo": todo}
        response = Response(json.dumps(document, indent=2), status, content_type=JSON)
    else:
        known = _known_nevertheless() if isinstance(error, StoreError) else {}
        is_known = g.get("client", NOBODY) != NOBODY  # whoever is not known sees no menu
        page = render_template("error.html", known=known, styled=g.get("reached"), is_known=is_known, **facts)
        response = Response(page, status, content_type=HTML)
    for name, value in (error.headers if isinstance(error, Refused) else {}).items():
        response.headers[name] = value
    return response


def _removed_at(removed_at: Callable[[int], str]) -> str:
    """Return when the grid job of a page was removed; empty if it was not."""
    found = request.view_args or {}
    number = None if "task" in found else found.get("number")  # items of tasks have numbers of their own
    with suppress(JimError, OSError):
        return "" if number is None else removed_at(number)
    return ""


def _told(error: Exception) -> tuple[int, str, str]:
    if isinstance(error, Refused):
        return error.status, str(error), ""
    if isinstance(error, HTTPException):
        words = {404: "there is no such page", 405: "this page can only be read"}
        return error.code or 500, words.get(error.code or 500, error.description or ""), _elsewhere()
    if isinstance(error, BadRequest):
        return 400, str(error), "Correct the address, or go back."
    if isinstance(error, Gone):
        return 410, str(error), "Files are removed together with their grid job, some time after it has ended."
    if isinstance(error, UnknownJob):
        return 404, str(error), OF_TASK if "task" in (request.view_args or {}) else OF_GRID_JOB
    if isinstance(error, TooLong):
        return 503, str(error), "Give a state or a range of numbers, and try again."
    if isinstance(error, JimError | OSError):
        again = "" if isinstance(error, Damaged) else " Try again, or run `jim site check`."
        return 503, str(error), f"Running jobs continue meanwhile.{again}"
    return 500, "a fault in JIM itself", "Please report it with the log of the pages."


def _elsewhere() -> str:
    """Return what to do at an address of nothing: the same words, whether nobody or only a higher role has the page."""
    role = g.get("role", Role.SEE)
    if request.method == "POST":
        reads = f"Whoever asks has the role `{role.value}`, which only reads: {SWITCH}."
        return f"Nothing was done. {OWN_CONTROLS if role is Role.CONTROL else reads}"
    unseen = "" if role is Role.CONTROL else f" What the role `{role.value}` may not see or do is not there for it."
    return f"Go back, or to the overview.{unseen}"


def _known_nevertheless() -> dict[str, Any]:
    """Return the keeper's last published page, for when the store cannot be read."""
    with suppress(OSError, ValueError, JimError):
        site = site_file.load()
        told = json.loads(site.summary.read_text())
        return {"at": str(told["at"]), "jobs": [each for each in told["jobs"] if isinstance(each, dict)][:50]}
    return {}

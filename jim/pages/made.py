"""Pages and documents as they are sent."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Response, g, request

from jim.pages import shown
from jim.pages.marks import Moment

HTML, JSON, CSV, XML, TEXT = (
    "text/html; charset=utf-8",
    "application/json",
    "text/csv; charset=utf-8",
    "application/xml",
    "text/plain; charset=utf-8",
)
KINDS = {"html": HTML, "json": JSON, "csv": CSV, "xml": XML}


@dataclass(frozen=True)
class Made:
    """A rendered page: its content, and the times of its data."""

    body: bytes
    kind: str
    now: str = ""
    keeper_seen: str = ""
    batch_seen: str = ""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    mark: str = ""  # of what it shows, if it is known whatever the time


def tag_of(name: str, mark: str | bytes) -> str:
    """Return the ETag of the page of this name: of the mark of the moment that it shows, or of its content."""
    content = mark if isinstance(mark, bytes) else mark.encode(errors="backslashreplace")
    digest = hashlib.sha256(f"{name} ".encode(errors="backslashreplace") + content)
    return f'"{digest.hexdigest()[:32]}"'


def as_json(document: Any) -> Made:
    """Return a document in the form that the command line prints."""
    return Made(f"{json.dumps(document, indent=2)}\n".encode(), JSON)


def as_csv(name: str, head: tuple[str, ...], rows: Iterable[Sequence[object]], following: str = "") -> Made:
    """Return a table for spreadsheets; a header names the address of the following page."""
    return Made(shown.as_csv(head, rows), CSV, headers=shown.headers_of_csv(name, following))


def accepted(formats: tuple[str, ...]) -> str:
    """Return the format that the browser prefers; HTML in doubt."""
    if len(formats) < 2:
        return formats[0]
    best = request.accept_mimetypes.best_match([KINDS[each].partition(";")[0] for each in formats], "text/html")
    return next(each for each in formats if KINDS[each].startswith(str(best)))


def name_of_page(kind: str) -> str:
    """Return the name in the cache of the page that is asked for: nobody is given what only another role may see."""
    return f"{g.role} {kind} {g.root} {request.full_path}"


def answer(made: Made, tag: str, moment: Moment | None = None) -> Response:
    """Return the content, or 304 if the browser has it already, and the times of the moment that it shows."""
    same = made.status == 200 and tag in request.headers.get("If-None-Match", "")
    response = Response(b"" if same else made.body, 304 if same else made.status, content_type=made.kind)
    response.headers["ETag"] = tag
    times = moment or made
    for header, value in (("Now", times.now), ("Keeper-Seen", times.keeper_seen), ("Batch-Seen", times.batch_seen)):
        if value:
            response.headers[f"JIM-{header}"] = value
    if made.kind == HTML:  # the script of a page, which draws ages, sees no other header of the page itself
        response.headers["Server-Timing"] = f"now;dur={1000 * time.time():.0f}"
    response.headers.extend(made.headers)
    return response

"""Pages and documents as they are sent."""

from __future__ import annotations

import pytest
from flask import Flask

from jim.pages.made import HTML, Made, accepted, answer, as_csv, as_json, tag_of

BROWSER = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"


def test_a_tag_is_of_one_page_at_one_mark() -> None:
    tags = {tag_of(name, mark) for name in ("look /jobs", "see /jobs") for mark in ("7 beats", "8 beats")}
    assert len(tags) == 4
    assert tag_of("look /jobs", "7 beats") in tags
    assert tag_of("look /jobs", b"7 beats") in tags  # a page without a mark is told by its content


def test_a_document_is_what_the_command_line_prints() -> None:
    assert as_json({"id": 7}).body == b'{\n  "id": 7\n}\n'
    assert as_csv("jobs", ("id",), [(7,)], "/jobs?after=7").body.splitlines()[-1] == b"7"


@pytest.mark.parametrize(
    ("asked", "best"),
    [(BROWSER, "html"), ("application/json", "json"), ("text/csv, text/html;q=0.5", "csv"), ("", "html")],
)
def test_the_format_is_what_the_browser_prefers(asked: str, best: str) -> None:
    with Flask("test").test_request_context(headers={"Accept": asked} if asked else {}):
        assert accepted(("html", "json", "csv")) == best
        assert accepted(("csv",)) == "csv"


@pytest.mark.parametrize(("known", "status", "body"), [('"a"', 304, b""), ('"b"', 200, b"page"), ("", 200, b"page")])
def test_who_has_a_page_gets_it_not_again(known: str, status: int, body: bytes) -> None:
    with Flask("test").test_request_context(headers={"If-None-Match": known} if known else {}):
        told = answer(Made(b"page", HTML, now="2026-01-31T12:00:00Z"), '"a"')
    assert (told.status_code, told.get_data(), told.headers["ETag"]) == (status, body, '"a"')
    assert told.headers["JIM-Now"] == "2026-01-31T12:00:00Z"
    assert told.headers["Server-Timing"].startswith("now;dur=")


def test_a_refusal_is_no_page_that_somebody_has() -> None:
    with Flask("test").test_request_context(headers={"If-None-Match": '"a"'}):
        assert answer(Made(b"no", HTML, status=404), '"a"').status_code == 404

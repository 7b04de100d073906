"""The application: what its log tells, and what its static files are called."""

from __future__ import annotations

import re

import pytest

from tests.pages.browser import Page, Person
from tests.pages.grounds import Ground, ended


def test_no_log_tells_a_query(running: Ground, person: Person, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "jim.pages"):
        person.get("/jobs?token=f00d&q=secret")
        person.get("/healthz")
    lines = [line.getMessage() for line in caplog.records]
    assert lines[0].startswith("GET /jobs 303 ")
    assert "f00d" not in "".join(lines)
    assert "secret" not in "".join(lines)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/jobs/..%2f..%2fetc%2fpasswd", 404),
        ("/jobs/%00", 404),
        ("/jobs/999999999999999999999999", 404),
        ("/jobs/-1", 404),
        ("/jobs/1/result/beside/..%2f..%2fx", 404),
        ("/static/..%2fapp.py", 404),
        ("/static/jim.css", 404),
        ("/jobs?q=" + "x" * 9000, 414),
        ("/jobs?q=%ff%fe%00", 200),
        ("/jobs?" + "&".join(f"type=t{n}" for n in range(101)), 400),
    ],
)
def test_43_an_odd_address_is_an_error_page(ground: Ground, person: Person, path: str, status: int) -> None:
    ended(ground, 1, 1, 60)
    answer = person.get(path)
    assert answer.status_code == status
    if status != 200:
        assert Page(answer.text).all("h1")


def test_static_files_have_names_that_never_mean_another_content(person: Person) -> None:
    page = person.page("/")
    style = page.all("link", rel="stylesheet")[0]["href"]
    assert re.fullmatch(r"/static/jim\.[0-9a-f]{12}\.css", style)
    answer = person.get(style)
    assert answer.content_type == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["Cache-Control"]
    assert person.get("/").headers["Cache-Control"] == "private, no-cache"


def test_the_script_is_small(person: Person) -> None:
    scripts = [content for name, content in person.pages.static.values() if name.endswith(".js")]
    assert 0 < sum(map(len, scripts)) <= 8 * 1024

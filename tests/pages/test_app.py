"""The application: what its log tells, and what it answers at odd addresses."""

from __future__ import annotations

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

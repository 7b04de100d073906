"""The application: what its log tells, and what it answers at odd addresses."""

from __future__ import annotations

import json

import pytest

from tests.support.walks import hidden, walked
from tests.unit.pages.browser import Page, Person, addresses
from tests.unit.pages.grounds import Ground, ended


def test_a_filter_that_a_page_does_not_know_is_refused_on_each_route(told: Ground, person: Person) -> None:
    answers = {path: person.get(f"{path}?nonsense=1") for path in addresses(person)}
    others = {path: each.status_code for path, each in answers.items() if each.status_code != 400}
    assert others.pop("/healthz") == 200, "whoever asks for it, whatever they ask"
    assert set(others.values()) <= {404}
    assert len(others) <= 8, others
    assert "unknown filter" in answers["/jobs/1.xml"].text.lower()
    assert json.loads(answers["/index.json"].text)["error"] == "unknown filter 'nonsense'"


@pytest.mark.parametrize("path", ["/jobs/1/0", "/jobs"])
def test_a_page_goes_only_where_imports_lead_and_opens_the_store_few_times(
    running: Ground, person: Person, path: str
) -> None:
    person.get("/jobs/1")  # loads what is loaded once
    entries = walked(lambda: person.get(path))
    assert hidden(entries) == set()
    assert sum(each.function == "open_store" for each in entries) <= 4


def test_a_page_that_may_not_be_seen_refuses_no_filter(told: Ground, person: Person) -> None:
    _, secret = person.pages.tokens.made("see", 1)
    for path in ("/jobs/1.xml", "/index.xml", "/site", "/jobs/1/result/tar", "/jobs/1/0/output/x", "/query"):
        assert person.get(f"{path}?nonsense=1", Authorization=f"Bearer {secret}").status_code == 404, path


@pytest.mark.parametrize("path", ["/", "/jobs/1", "/jobs/1/0", "/query?xpath=//jim:local_job"])
def test_a_document_comes_for_whoever_accepts_only_xml(told: Ground, person: Person, path: str) -> None:
    assert person.get(path, Accept="application/xml").content_type == "application/xml"
    browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    assert person.get(path, Accept=browser).content_type.startswith("text/html")


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
        ("/jobs/%00", 400),
        ("/jobs/999999999999999999999999", 404),
        ("/jobs/-1", 404),
        ("/jobs/%D9%A1", 404),  # a digit of Arabic
        ("/jobs/+1", 404),
        ("/jobs/1%0a", 400),
        ("/jobs/1;x=1", 404),
        ("/jobs//1", 404),
        ("/jobs/1/", 404),
        ("/jobs/./1", 404),
        ("/jobs?since=999999w", 400),
        ("/jobs?until=999999d", 400),
        ("/jobs?since=0000-01-01", 400),
        ("/jobs?since=2026-01-31T12:00%2B02:00", 400),
        ("/jobs?limit=%EF%BC%91", 400),
        ("/jobs/1/result/beside/..%2f..%2fx", 404),
        ("/static/..%2fapp.py", 404),
        ("/static/jim.css", 404),
        ("/jobs?q=" + "x" * 9000, 414),
        ("/jobs?q=%ff%fe%00", 200),
        ("/jobs?" + "&".join(f"type=t{n}" for n in range(101)), 400),
    ],
)
def test_an_odd_address_is_an_error_page(ground: Ground, person: Person, path: str, status: int) -> None:
    ended(ground, 1, 1, 60)
    answer = person.get(path)
    assert answer.status_code == status
    if status != 200:
        assert Page(answer.text).all("h1")

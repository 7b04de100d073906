"""The page over all accounts of a site."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from jim import cli
from jim.pages.app import make_app
from jim.reading.site.accounts import Accounts
from jim.site.file import Site
from jim.site.settings import Pages
from tests.support.publishing import publish, summary
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground

EVIL = "<script>alert(1)</script>\u202e"


@pytest.fixture
def whole(ground: Ground, tmp_path: Path) -> Person:
    """Somebody who looks at the page of a site of three accounts."""
    (tmp_path / ".published").mkdir()
    site = Site(state=tmp_path / "me", managed=True, pages=Pages(account_url="https://jim.example.org/{account}/"))
    publish(site, "alice", summary())
    publish(site, "bob", summary(trouble=EVIL, jobs=[{"status": EVIL, "counts": {"waiting": 7}}]))
    publish(site, "carol", "=nonsense")
    person = Person(ground, logged_in=False)
    person.pages.accounts = Accounts(site)
    person.app = make_app(person.pages)
    person.client = person.app.test_client()
    assert person.get("/?token=f00d").status_code == 303
    return person


def test_all_accounts_are_shown_with_links_to_their_pages(whole: Person) -> None:
    page = whole.page("/")
    assert [row[0].strip() for row in page.rows[1:]] == ["alice", "bob", "carol"]
    assert [each.strip() for each in page.rows[1][1:3]] == ["2 running, 1 submitted", "5 running, 1 failed"]
    assert "3 accounts, 3 in trouble" in page.text
    assert "https://jim.example.org/alice/" in page.links()
    assert "<script>alert" not in page.html
    assert "⟨U+202E⟩" in page.text
    assert "what it publishes cannot be read" in page.rows[3][4]


def test_the_same_as_documents(whole: Person) -> None:
    told = whole.json("/index.json")["accounts"]
    alice = {"account": "alice", "grid_jobs": {"running": 2, "submitted": 1}, "counts": {"running": 5, "failed": 1}}
    assert told[0] == {**told[0], **alice, "url": "https://jim.example.org/alice/", "problem": ""}
    assert told[1]["trouble"] == EVIL
    rows = list(csv.DictReader(io.StringIO(whole.get("/index.csv").text)))
    assert [(row["account"], row["grid_jobs"], row["waiting"]) for row in rows] == [
        ("alice", "3", "0"),
        ("bob", "1", "7"),
        ("carol", "0", "0"),
    ]
    assert json.loads(whole.get("/", Accept="application/json").text)["accounts"] == told


def test_there_is_nothing_else_and_nothing_without_a_session(whole: Person) -> None:
    assert [whole.get(path).status_code for path in ("/jobs", "/jobs/1", "/site", "/metrics")] == [404] * 4
    assert whole.get("/?x=1").status_code == 400
    assert whole.get("/healthz").text == "ok\n"
    whole.client = whole.app.test_client()
    assert [whole.get(path).status_code for path in ("/", "/index.json", "/index.csv")] == [401] * 3


def test_root_does_not_serve_the_page(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("jim.cli.pages.site_file.load", lambda: ground.site._replace(managed=True))
    monkeypatch.setattr("jim.cli.pages.os.geteuid", lambda: 0)
    assert cli.main(["pages", "--site"]) == 2
    assert "run it as an account of it, not as root" in capsys.readouterr().err


@pytest.mark.parametrize("odd", [{"at": "2026-01-31T11:59:00"}, {"jobs": [{"counts": {"running": float("inf")}}]}])
def test_what_one_account_publishes_ends_the_page_of_no_other(whole: Person, odd: dict[str, object]) -> None:
    accounts = whole.pages.accounts
    assert accounts is not None
    publish(accounts.site, "dora", summary(**odd))
    for address in ("/", "/index.json", "/index.csv"):
        assert whole.get(address).status_code == 200
    told = {each["account"]: each["problem"] for each in whole.json("/index.json")["accounts"]}
    assert not told["alice"]
    assert told["dora"].startswith("what it publishes cannot be read: ")

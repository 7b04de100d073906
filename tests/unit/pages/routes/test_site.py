"""The page of the site: what was last found out about it, its limits, and what is left for people."""

from __future__ import annotations

import base64
import json

import pytest

from jim import cli
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground, checked, text


def test_the_last_check_and_the_last_test_are_shown_with_their_age(ground: Ground, person: Person) -> None:
    checked(ground)
    page = person.page("/site")
    assert "4 checks: 1 failed , 1 warning , 2 ok , by jim site check " in page.text
    assert [" ".join(row[0].split()) for row in page.rows if len(row) == 3][1:3] == ["batch system", "state space"]
    assert "make room before it is full" in page.text
    assert "JIM SITE WARNING - 1 of 4 checks: state space: 1.2 GB free, by jim site test " in page.text
    assert len(page.all("time", datetime=text(ground.now - 3600))) == 2
    document = person.json("/site.json")
    assert document["checked"]["at"] == text(ground.now - 3600)
    assert [each["level"] for each in document["checked"]["checks"]] == ["failed", "warning", "ok", "ok"]


def test_the_check_leaves_its_findings_for_the_page(
    ground: Ground, person: Person, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from jim.admin import check
    from jim.admin.finding import FAILED, OK, Finding

    assert "No result of jim site check is stored" in person.page("/site").text
    told = [Finding("locks", OK, "fine"), Finding("batch <b>", FAILED, "sinfo: <script>", "start it")]
    monkeypatch.setattr(check, "findings", lambda: iter(told))
    assert cli.main(["site", "check", "--json"]) == 3
    printed = json.loads(capsys.readouterr().out)
    assert printed.keys() == {"ok", "checks"}
    stored = json.loads(ground.site.checked.read_text())
    assert {name: stored[name] for name in printed} == printed
    page = person.page("/site")
    assert "2 checks: 1 failed , 1 ok , by jim site check" in page.text
    assert "batch <b>" in page.text
    assert "sinfo: <script>" in page.text
    assert person.json("/site.json")["checked"]["checks"] == [printed["checks"][1], printed["checks"][0]]


@pytest.mark.parametrize("content", ["", "[]", '{"at": "soon", "checks": []}', '{"checks": [1]}', "[" * 10_000])
def test_a_result_that_cannot_be_read_is_none(ground: Ground, person: Person, content: str) -> None:
    ground.site.checked.write_text(content)
    assert "No result of jim site check is stored" in person.page("/site").text
    assert person.json("/site.json")["checked"] is None


def test_what_is_left_for_people_is_counted(ground: Ground, person: Person) -> None:
    found = person.json("/site.json")["found"]
    assert (found["rejected"], found["put_aside"], found["ending"]) == (0, 0, [])
    assert [each["name"] for each in found["rooms"]] == ["state directory", "work directory"]
    assert all(0 < each["free"] <= each["size"] for each in found["rooms"])
    checked(ground)
    other = Person(ground)
    found = other.json("/site.json")["found"]
    assert (found["rejected"], found["put_aside"]) == (1, 1)
    text_ = other.page("/site").text
    assert "1 file of wrappers made no sense" in text_
    assert "1 file in the inbox that no door has made" in text_


def token(end: float) -> bytes:
    """Make a JSON web token."""
    return b"e30." + base64.urlsafe_b64encode(json.dumps({"exp": end}).encode()).rstrip(b"=") + b".sign"


def test_a_token_that_ends_soon_is_told_with_its_grid_job(ground: Ground, person: Person) -> None:
    for number, ends in ((1, 3600), (2, 13 * 3600), (3, -60)):
        file = ground.site.state / f"token-{number}"
        file.write_bytes(token(ground.now + ends))
        ground.add(number, 1, 60, token=str(file))
    found = person.json("/site.json")["found"]["ending"]
    assert [(each["grid"], each["kind"], each["ended"]) for each in found] == [
        (3, "token", True),
        (1, "token", False),
    ]
    page = person.page("/site")
    assert "Proxies and tokens that end within 12 hours" in page.text
    assert {"/jobs/1", "/jobs/3"} <= set(page.links())
    assert "/jobs/2" not in page.links()


def test_limits_and_retention_are_those_of_the_site_file(
    ground: Ground, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "There is no site file: these are the defaults" in person.page("/site").text
    (ground.site.state / "site.toml").write_text("[keep]\nfinished_days = 7.5\n[limits]\nqueued = 1234\n")
    page = person.page("/site")
    rows = {row[0].strip(): row[1].strip() for row in page.rows if len(row) == 3}
    assert (rows["limits.queued"], rows["limits.local_jobs"], rows["keep.finished_days"]) == (
        "1,234",
        "1,000,000",
        "7.5",
    )
    assert f"From {ground.site.state}/site.toml" in page.text
    assert person.json("/site.json")["keep"]["finished_days"] == 7.5


def test_a_site_that_is_drained_says_why(ground: Ground, person: Person) -> None:
    assert cli.main(["site", "drain", "--reason", "new <disks>"]) == 0
    assert "The site has taken no new grid jobs since" in person.page("/site").text
    assert ": new <disks>;" in person.page("/site").text
    assert person.get("/site?x=1").status_code == 400

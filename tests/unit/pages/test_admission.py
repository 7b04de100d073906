"""Who is let in, and as what: what the role `see` may not see is nowhere."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.pages.browser import PORT, Person, addresses
from tests.unit.pages.grounds import Ground

SECRET = "s3cr3t"


def asking(person: Person, role: str) -> Any:
    _, secret = person.pages.tokens.made(role, 1)
    return lambda path: person.get(path, Authorization=f"Bearer {secret}")


def paths(person: Person) -> list[str]:
    """Give an address for each route of the application, and some more."""
    return [
        *addresses(person),
        f"/jobs/1/0/output/{SECRET}",
        f"/jobs/1/result/beside/{SECRET}.txt",
        "/jobs?q=s3",
        "/jobs/1?state=new",
    ]


def test_what_the_role_see_may_not_see_is_nowhere(told: Ground, person: Person) -> None:
    see, look = asking(person, "see"), asking(person, "look")
    seen: dict[str, int] = {}
    shown = set()
    for path in paths(person):
        answer = see(path)
        seen[path] = answer.status_code
        assert SECRET not in answer.text.replace(path, ""), path
        if SECRET in look(path).text.replace(path, ""):
            shown.add(path)
    assert {"/jobs/1", "/jobs/1.json", "/jobs/1.xml", "/jobs/1/0", "/jobs/1/0.json", "/jobs/1/0.xml"} <= shown
    assert {"/jobs/1/0/log/stdout", "/jobs/1/result", "/jobs/1/result/tar", f"/jobs/1/0/output/{SECRET}"} <= shown
    assert {path for path in seen if seen[path] == 200} >= {
        *("/", "/jobs", "/jobs/1", "/jobs/1/0", "/hosts", "/schema", "/metrics", "/index.json", "/jobs.csv"),
        *("/jobs/1.json", "/jobs/1/0.json", "/jobs/1.csv", "/jobs/1/explain.json"),
    }
    hidden = {path for path in shown if "/log/" in path or "/result" in path or "/output/" in path or ".xml" in path}
    assert {seen[path] for path in hidden | {"/site", "/site.json"}} == {404}


def test_a_page_that_may_not_be_seen_is_like_one_that_does_not_exist(told: Ground, person: Person) -> None:
    see = asking(person, "see")
    for path in ("/jobs/1/0/log/stdout", "/jobs/1.xml", "/site"):
        assert see(path).text == see("/nothing").text, path
    assert "/site" not in see("/").text.partition("<main")[0]
    assert "/jobs/1.xml" not in see("/jobs/1").text


def test_roles_do_not_share_renderings(told: Ground, person: Person) -> None:
    person.within_a_minute()
    person.anew = False
    see, look = asking(person, "see"), asking(person, "look")
    assert SECRET in look("/jobs/1").text
    assert SECRET not in see("/jobs/1").text
    assert see("/jobs/1").headers["ETag"] != look("/jobs/1").headers["ETag"]


def test_a_browser_begins_a_session_with_a_token_that_ends_with_it(told: Ground) -> None:
    person = Person(told, logged_in=False)
    token, secret = person.pages.tokens.made("see", 2)
    answer = person.get(f"/jobs?token={secret}&owner=alice")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/jobs?owner=alice")
    assert person.get("/jobs/1").status_code == 200
    assert SECRET not in person.get("/jobs/1").text
    assert person.get("/site").status_code == 404
    person.pages.tokens.revoke(token.name)
    assert person.get("/jobs/1").status_code == 401


def test_a_token_lets_no_other_account_in(told: Ground) -> None:
    person = Person(told, logged_in=False)
    _, secret = person.pages.tokens.made("look", 2)
    person.access.uid = 1001
    assert person.get("/jobs", Authorization=f"Bearer {secret}").status_code == 403


def test_the_address_that_the_command_prints_gives_the_whole(told: Ground, person: Person) -> None:
    assert SECRET in person.get("/jobs/1").text
    assert json.loads(person.get("/jobs/1.json").text)["request"]["executable"] == SECRET
    assert PORT

"""Tokens and roles: what the role `see` may not see is nowhere."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from jim import cli
from jim.errors import BadRequest
from jim.model import Piece, State, Step
from jim.pages.tokens import Role, Tokens
from tests.pages.browser import PORT, Person
from tests.pages.grounds import Ground, record

SECRET = "s3cr3t"
NUMBERS = {"number": "1", "n": "0", "name": "stdout", "host": "wn1"}


@pytest.fixture
def told(ground: Ground) -> Ground:
    """A grid job with a secret in whatever only the role `look` may see."""
    request = {"job_type": "executable", "key": "k", "executable": SECRET, "arguments": [SECRET], "token": f"/{SECRET}"}
    ground.store.add_grid_job(1, "k", "alice", "2026-01-31T11:00:00.000Z", request)
    ground.store.set_grid_job(1, step=Step.RESOLVED, place="1")
    piece = Piece(arguments=(SECRET,), files=(SECRET,), variables={"a": SECRET}, attributes={"b": SECRET})
    ground.store.add_pieces(1, 0, [piece, piece])
    ground.store.end_split(1, 2)
    mark = ground.send(1, 1, [0, 1], 50)
    exit_record = record(mark, 1, 0, 1, "wn1", ground.now - 40, 30, 0)
    exit_record = exit_record.replace("end\n", f"file 6 {'0' * 64} {SECRET}\nend\n")
    ground.store.set_attempt(
        1, 1, 1, host="wn1", started="2026-01-31T11:00:00Z", verdict="completed", record=exit_record
    )
    ground.store.set_local_job(1, 0, state=State.COMPLETED)
    ground.store.publish(1, 0, "x", f'<x:y xmlns:x="urn:x">{SECRET}</x:y>')
    for name in ("stdout", "stderr", "log", SECRET):
        ground.leave(1, 1, 1, name, SECRET.encode())
    ground.collect(1, {f"1.0/{SECRET}": SECRET.encode()}, {f"{SECRET}.txt": SECRET.encode()})
    return ground


def asking(person: Person, role: str) -> Any:
    _, secret = person.pages.tokens.made(role, 1)
    return lambda path: person.get(path, Authorization=f"Bearer {secret}")


def paths(person: Person) -> list[str]:
    """Give an address for each route of the application."""
    found = []
    for rule in person.app.url_map.iter_rules():
        path = re.sub(r"<(?:\w+(?:\([^)]*\))?:)?(\w+)>", lambda each: NUMBERS[each[1]], rule.rule)
        found.append(path)
    return [
        *found,
        f"/jobs/1/0/output/{SECRET}",
        f"/jobs/1/result/beside/{SECRET}.txt",
        "/jobs?q=s3",
        "/jobs/1?state=new",
    ]


def test_38_what_the_role_see_may_not_see_is_nowhere(told: Ground, person: Person) -> None:
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


def test_38_a_page_that_may_not_be_seen_is_like_one_that_does_not_exist(told: Ground, person: Person) -> None:
    see = asking(person, "see")
    for path in ("/jobs/1/0/log/stdout", "/jobs/1.xml", "/site"):
        assert see(path).text == see("/nothing").text, path
    assert "/site" not in see("/").text.partition("<main")[0]
    assert "/jobs/1.xml" not in see("/jobs/1").text


def test_roles_do_not_share_renderings(told: Ground, person: Person) -> None:
    person.pages.renderings.clock = lambda: 5.0
    see, look = asking(person, "see"), asking(person, "look")
    assert SECRET in look("/jobs/1").text
    assert SECRET not in see("/jobs/1").text
    assert see("/jobs/1").headers["ETag"] != look("/jobs/1").headers["ETag"]


def test_39_a_bearer_token_is_good_until_it_ends_or_is_revoked(told: Ground) -> None:
    person = Person(told, logged_in=False)
    now = [1000.0]
    person.pages.tokens = Tokens(told.site.state, lambda: now[0])
    token, secret = person.pages.tokens.made("look", 2)

    def status(text: str) -> int:
        return int(person.get("/jobs", Authorization=text).status_code)

    assert (status(f"Bearer {secret}"), status(f"bearer {secret}")) == (200, 200)
    for wrong in ("Bearer", f"Bearer {secret}0", f"Bearer {token.name}", f"Basic {secret}", f"Bearer {'0' * 40}"):
        assert status(wrong) == 401, wrong
    now[0] += 2 * 86_400
    assert status(f"Bearer {secret}") == 401
    token, secret = person.pages.tokens.made("look", 2)
    person.pages.tokens.revoke(token.name)
    assert status(f"Bearer {secret}") == 401
    assert person.get("/healthz", Authorization="Bearer nonsense").status_code == 200


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


def test_36_a_token_lets_no_other_account_in(told: Ground) -> None:
    person = Person(told, logged_in=False)
    _, secret = person.pages.tokens.made("look", 2)
    person.access.uid = 1001
    assert person.get("/jobs", Authorization=f"Bearer {secret}").status_code == 403


def test_the_state_directory_keeps_no_secret(told: Ground) -> None:
    tokens = Tokens(told.site.state)
    token, secret = tokens.made("see", 1)
    kept = (told.site.state / "pages.tokens").read_text()
    assert token.name in kept
    assert secret[8:] not in kept
    assert (told.site.state / "pages.tokens").stat().st_mode & 0o777 == 0o600
    assert tokens.of(secret) == token
    assert tokens.of("") is None


@pytest.mark.parametrize("content", ["", "{}", "[1]", '[["a", "root", "x", 1]]'])
def test_a_file_of_tokens_that_makes_no_sense_lets_nobody_in(told: Ground, content: str) -> None:
    tokens = Tokens(told.site.state)
    _, secret = tokens.made("see", 1)
    (told.site.state / "pages.tokens").write_text(content)
    assert tokens.of(secret) is None


@pytest.mark.parametrize(("role", "days"), [("root", 1.0), ("see", 0.0), ("see", 1e9), ("", 1.0)])
def test_a_token_of_an_odd_role_or_length_is_refused(told: Ground, role: str, days: float) -> None:
    with pytest.raises(BadRequest):
        Tokens(told.site.state).made(role, days)


def test_the_command_line_makes_lists_and_revokes(told: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["pages", "token", "--role", "look", "--days", "3"]) == 0
    secret, rest = capsys.readouterr().out.split("\n", 1)
    tokens = Tokens(told.site.state)
    token = tokens.of(secret)
    assert token is not None
    assert token.role is Role.LOOK
    assert f"is token {token.name} with the role look" in rest
    assert cli.main(["pages", "token", "--list"]) == 0
    listed = capsys.readouterr().out
    assert token.name in listed
    assert secret not in listed
    assert cli.main(["pages", "token", "--revoke", token.name]) == 0
    assert tokens.listed() == []
    assert cli.main(["pages", "token", "--revoke", token.name]) == 2
    assert "jim pages token --list" in capsys.readouterr().err
    assert cli.main(["pages", "--list"]) == 2


def test_the_address_that_the_command_prints_gives_the_whole(told: Ground, person: Person) -> None:
    assert SECRET in person.get("/jobs/1").text
    assert json.loads(person.get("/jobs/1.json").text)["request"]["executable"] == SECRET
    assert PORT

"""Tokens are good until they end or are revoked, and the state directory keeps no secret of them."""

from __future__ import annotations

import re

import pytest

from jim import cli
from jim.errors import BadRequest
from jim.pages.tokens import Role, Tokens
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground


def test_a_bearer_token_is_good_until_it_ends_or_is_revoked(told: Ground) -> None:
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
    told_at = capsys.readouterr()
    secret, rest = told_at.out.removesuffix("\n"), told_at.err
    assert "\n" not in secret, "`TOKEN=$(jim pages token)` has the token, and only that"
    tokens = Tokens(told.site.state)
    token = tokens.of(secret)
    assert token is not None
    assert token.role is Role.LOOK
    assert re.search(
        rf"is token {token.name} with the role look, good until [\d-]+ [\d:]+ [A-Z]+\. ", rest
    )  # local time
    assert cli.main(["pages", "token", "--list"]) == 0
    listed = capsys.readouterr().out
    assert token.name in listed
    assert secret not in listed
    assert cli.main(["pages", "token", "--revoke", token.name]) == 0
    assert tokens.listed() == []
    assert cli.main(["pages", "token", "--revoke", token.name]) == 2
    assert "jim pages token --list" in capsys.readouterr().err
    assert cli.main(["pages", "--list"]) == 2

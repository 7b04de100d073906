"""docs/security.md: what it promises is shown by tests that exist."""

from __future__ import annotations

import re

from tests.support.documents import HOME, text_of

PAGE = "docs/security.md"


def _rows() -> list[tuple[str, str]]:
    """Give each promise, with what shows it."""
    tables = re.findall(r"^\| promise \| shown by \|\n\|---\|---\|\n((?:\|.*\n)+)", text_of(PAGE), re.MULTILINE)
    lines = [line for table in tables for line in table.splitlines()]
    return [(cells[1], cells[2]) for cells in (re.split(r"\s*\|\s*", line) for line in lines)]


def test_every_test_that_shows_a_promise_exists() -> None:
    texts = "".join(path.read_text() for path in sorted((HOME / "tests").rglob("test_*.py")))
    there = {*re.findall(r"^\s*(?:async )?def (test_\w+)", texts, re.MULTILINE)}
    named = {*re.findall(r"`(test_\w+)`", text_of(PAGE))}
    assert len(named) > 40
    assert named - there == set()


def test_every_promise_has_a_test_or_says_that_it_has_none() -> None:
    found = _rows()
    assert len(found) > 40
    for promise, shown in found:
        assert shown == "—" or re.fullmatch(r"`test_\w+`(, `test_\w+`)*", shown), promise


def test_each_adversary_has_its_promises() -> None:
    sections = re.split(r"^## ", text_of(PAGE), flags=re.MULTILINE)[1:]
    promising = [each.partition("\n")[0] for each in sections if "| promise |" in each]
    assert promising == [
        "A stranger at a door",
        "A member of a VO that shares the account",
        "A local user",
        "A payload",
        "An account against root",
        "A browser",
    ]


def test_a_reporter_is_led_to_a_private_form_and_to_no_address() -> None:
    text = text_of("SECURITY.md")
    assert "Report a vulnerability" in text
    assert not re.search(r"\w@\w|mailto:", text)
    assert all(f"\n## {title}\n" in text for title in ("Report a weakness", "Versions", "Scope"))

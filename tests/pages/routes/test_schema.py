"""The grammar of the documents: for people, and as it is."""

from __future__ import annotations

import pytest

from jim import cli
from jim.reading.grammar import elements
from jim.statusdb.xml import schema
from tests.pages.browser import Person
from tests.pages.grounds import Ground


def test_the_grammar_is_what_the_command_line_prints(
    ground: Ground, person: Person, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert cli.main(["xml", "--schema"]) == 0
    answer = person.get("/schema.rng")
    assert answer.data == capfdbinary.readouterr().out
    assert answer.content_type == "application/relax-ng+xml"


def test_the_page_links_elements_and_the_grammar(ground: Ground, person: Person) -> None:
    page = person.page("/schema")
    assert {"#local_job", "#exit", "/schema.rng"} <= set(page.links())
    names = {each["id"] for each in page.all("h2") if "id" in each}
    assert {each[1:] for each in page.links() if each.startswith("#")} - {"main"} <= names
    document = person.json("/schema.json")
    assert [each["name"] for each in document["elements"]] == [each.name for each in elements(schema())]
    assert person.get("/schema?x=1").status_code == 400

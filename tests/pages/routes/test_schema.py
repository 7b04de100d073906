"""The grammar of the documents: for people, and as it is."""

from __future__ import annotations

import pytest

from jim import cli
from jim.reading.grammar import ANY, Attribute, Child, elements
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


def test_each_element_is_described_once_with_attributes_and_children() -> None:
    found = {each.name: each for each in elements(schema())}
    assert list(found)[:2] == ["grid_job", "counts"]
    assert {"local_job", "attempt", "exit", "output", "detail", "piece"} <= found.keys()
    assert found["output"].attributes == [
        Attribute("name", "text", ""),
        Attribute("bytes", "count", ""),
        Attribute("sha256", "text", ""),
    ]
    assert found["exit"].children == [Child("output", "any number"), Child("refused", "any number")]
    assert found["detail"].children == [Child(ANY, "any number")]
    verdict = next(each for each in found["attempt"].attributes if each.name == "verdict")
    assert verdict.values.startswith("again, elsewhere, waiting, submitting")
    assert verdict.often == "optional"
    assert Attribute("key", "text", "") in found["grid_job"].attributes
    assert Child("local_job", "any number") in found["grid_job"].children
    assert Attribute("waiting", "count", "optional") in found["counts"].attributes


def test_the_page_links_elements_and_the_grammar(ground: Ground, person: Person) -> None:
    page = person.page("/schema")
    assert {"#local_job", "#exit", "/schema.rng"} <= set(page.links())
    names = {each["id"] for each in page.all("h2") if "id" in each}
    assert {each[1:] for each in page.links() if each.startswith("#")} - {"main"} <= names
    document = person.json("/schema.json")
    assert [each["name"] for each in document["elements"]] == [each.name for each in elements(schema())]
    assert person.get("/schema?x=1").status_code == 400

"""The grammar of the documents: for people, and as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from jim import cli
from jim.reading.documents.grammar import elements
from jim.statusdb.documents.xml import schema
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground


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


def test_grammars_of_job_types_are_listed_and_sent(ground: Ground, person: Person) -> None:
    page = person.page("/schema")
    assert "urn:jim:pythia:1" in page.text
    assert "cannot be used" not in page.text
    answer = person.get("/schema/pythia_monte_carlo.pythia_monte_carlo.rng")
    assert (answer.status_code, answer.headers["Content-Disposition"]) == (
        200,
        "attachment; filename=pythia_monte_carlo.rng",
    )
    assert b"urn:jim:pythia:1" in answer.data
    assert person.get("/schema/executable.executable.rng").status_code == 404


def test_a_grammar_that_is_not_well_formed_is_named_on_the_page(
    ground: Ground, person: Person, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bad.rng").write_text("<element")
    bad = [("mine.darts", "urn:mine", tmp_path / "bad.rng")]
    monkeypatch.setattr("jim.pages.routes.schema.all_grammars", lambda _: bad)
    assert "bad.rng cannot be used" in person.page("/schema").text


def test_the_grammars_of_job_types_are_not_read_for_each_viewer(
    ground: Ground, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    monkeypatch.setattr("jim.pages.routes.schema._faults", lambda files: read.append(files) or {})
    for _ in range(3):
        person.page("/schema")
    assert len(read) == 1

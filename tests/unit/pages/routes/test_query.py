"""/query: XPath on a page, and its other formats."""

from __future__ import annotations

import csv
import io
from contextlib import ExitStack
from urllib.parse import quote

import pytest
from lxml import etree

from jim.model import State
from jim.pages.routes import query
from jim.pages.tokens import Role
from jim.reading.documents import queries
from jim.statusdb.documents.xml import schema
from jim.statusdb.documents.xpath import Most
from tests.unit.pages.browser import Page, Person
from tests.unit.pages.grounds import Ground

STATES = "//jim:local_job/@state"
WHOLE = "//jim:local_job[true()]/@state"


def at(expression: str, kind: str = "", **more: str) -> str:
    rest = "".join(f"&{name}={quote(value)}" for name, value in more.items())
    return f"/query{kind}?xpath={quote(expression)}{rest}"


def told(page: Page) -> list[list[str]]:
    return [[cell.strip() for cell in row] for row in page.rows]


def test_the_page_has_a_form_and_examples_and_is_in_the_menu(person: Person) -> None:
    page = person.page("/query")
    assert {"/query", "/schema"} <= set(page.links())
    assert page.all("input", name="xpath")
    examples = [each for each in page.links() if each.startswith("/query?xpath=")]
    assert len(examples) == len(query.EXAMPLES)
    for each in examples:
        assert person.page(each).all("section")


def test_a_translated_expression_is_answered_at_once(running: Ground, person: Person) -> None:
    page = person.page(at(STATES))
    assert "Translated , over 1 document with 4 local jobs" in page.text
    assert told(page)[1:] == [
        ["1.0", "running"],
        ["1.1", "submitted"],
        ["1.2", "submitted"],
        ["1.3", "waiting"],
    ]
    assert "/jobs/1/0" in page.links()


def test_a_whole_document_is_read_only_if_that_is_wanted(running: Ground, person: Person) -> None:
    page = person.page(at(WHOLE))
    assert "Whole , over 1 document with 4 local jobs" in page.text
    assert "the function true() is not translated" in page.text
    assert ["1.0", "running"] not in told(page)
    (go,) = [each for each in page.links() if "whole=yes" in each]
    assert ["1.0", "running"] in told(person.page(go))


def test_what_can_never_match_is_told_on_the_page(running: Ground, person: Person) -> None:
    page = person.page(at("//jim:local_job[@updated > '2026-01-01']/@n"))
    assert "use @updated_s" in page.text
    assert "It finds nothing." in page.text


def test_the_page_says_what_is_wrong_with_an_expression(person: Person) -> None:
    answer = person.get(at("//jim:local_job["))
    assert answer.status_code == 400
    assert "it ends too early" in answer.text
    assert 'value="//jim:local_job["' in answer.text
    answer = person.get(at("nope()", whole="yes"))
    assert (answer.status_code, "nope" in answer.text) == (400, True)
    assert person.get("/query.json").status_code == 400
    assert person.get("/query?nope=1").status_code == 400
    assert person.get(at("1", grid="x")).status_code == 400
    assert person.get(at(STATES, grid="77")).status_code == 404


@pytest.mark.parametrize("expression", [STATES, WHOLE])
def test_the_other_formats_give_the_same_results(running: Ground, person: Person, expression: str) -> None:
    expected = [("1.0", "running"), ("1.1", "submitted"), ("1.2", "submitted"), ("1.3", "waiting")]
    document = person.json(at(expression, ".json"))
    assert [tuple(each.values()) for each in document["results"]] == expected
    assert (document["shown_of"], document["grid_jobs"], document["warnings"]) == (4, 1, [])
    rows = list(csv.reader(io.StringIO(person.get(at(expression, ".csv")).text)))
    assert rows == [["job", "result"], *map(list, expected)]
    root = etree.fromstring(person.get(at(expression, ".xml")).data)
    etree.RelaxNG(etree.fromstring(schema())).assertValid(root)
    assert [(each.get("job"), each.text) for each in root] == expected


def test_elements_are_elements_in_xml(running: Ground, person: Person) -> None:
    for expression in ("//jim:attempt", "//jim:attempt[true()]"):
        root = etree.fromstring(person.get(at(expression, ".xml")).data)
        etree.RelaxNG(etree.fromstring(schema())).assertValid(root)
        assert [each[0].get("number") for each in root] == ["1", "1", "1"]
    root = etree.fromstring(person.get(at("'<a>'", ".xml")).data)
    assert [each.text for each in root] == ["<a>"]


def test_a_page_has_a_part_of_many_results(running: Ground, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "ON_A_PAGE", Most(2, 1000))
    page = person.page(at(STATES))
    assert len(page.rows) == 3
    assert "The first 2 results; there are more" in page.text
    assert "The first 2 of 4 results" in person.page(at(WHOLE, whole="yes")).text
    assert person.json(at(STATES, ".json"))["shown_of"] == "more than 2"
    assert len(etree.fromstring(person.get(at(STATES, ".xml")).data)) == 4


def test_an_expression_is_asked_of_some_grid_jobs(running: Ground, person: Person) -> None:
    running.add(2, 1, 100)
    assert len(person.json(at(STATES, ".json"))["results"]) == 5
    assert [each["job"] for each in person.json(at(STATES, ".json", grid="2"))["results"]] == ["2.0"]
    assert person.json(at("count(//jim:grid_job)", ".json", grid="1, 2"))["results"] == [{"job": "", "result": "2"}]


def test_whoever_only_sees_states_asks_nothing(running: Ground) -> None:
    seer = Person(running, logged_in=False)
    _, cookie = seer.pages.tokens.made(Role.SEE, 1)
    bearer = {"Authorization": f"Bearer {cookie}"}
    for kind in ("", ".json", ".csv", ".xml"):
        nothing = seer.get(f"/no-such-page{kind}", **bearer)
        for path in (f"/query{kind}", at(STATES, kind), at("//jim:argument", kind, whole="yes")):
            answer = seer.get(path, **bearer)
            assert (answer.status_code, answer.data) == (404, nothing.data), path
    assert seer.get("/index.xml", **bearer).status_code == 404
    assert "/query" not in seer.get("/jobs", **bearer).text


def test_pages_go_on_while_expressions_are_evaluated(running: Ground, person: Person) -> None:
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(queries._children())
        answer = person.get(at(WHOLE, ".json"))
        assert answer.status_code == 503
        assert "other expressions are being evaluated" in answer.text
        assert person.get("/").status_code == 200
    assert person.get(at(WHOLE, ".json")).status_code == 200


def test_the_site_is_a_document(running: Ground, person: Person) -> None:
    root = etree.fromstring(person.get("/index.xml").data)
    etree.RelaxNG(etree.fromstring(schema())).assertValid(root)
    assert [each.get("id") for each in root.iterfind("{*}grid_job")] == ["1"]


def test_the_page_begins_with_a_form_whose_answer_is_a_table(running: Ground, person: Person) -> None:
    running.store.set_local_job(1, 2, state=State.FAILED, reason='exit 3: it\'s a "bad" disk')
    page = person.page("/query")
    names = [each.get("name") for _, each in page.elements if each.get("name") in {*query.QUERY}]
    assert names == ["state", "host", "owner", "since", "until", "words", "grid", "xpath", "grid", "task"]
    page = person.page("/query?state=failed&words=disk+exit&owner=mc&since=1h")
    assert [row[:2] for row in told(page)[1:]] == [["1.2", "failed"]]
    (expression,) = page.all("input", name="xpath")
    assert expression["value"].startswith("//jim:grid_job[@owner = 'mc']/jim:local_job[@state = 'failed' and ")
    assert [row[0] for row in told(person.page("/query?host=wn1"))[1:]] == ["1.0"]
    assert "It finds nothing." in person.page("/query?owner=%27+or+%271%27%3D%271").text
    marks = person.page("/query?words=" + quote('it\'s "bad"'))
    assert [row[0] for row in told(marks)[1:]] == ["1.2"]


def test_the_form_has_the_other_formats_too_and_its_limits(running: Ground, person: Person) -> None:
    found = person.json("/query.json?state=running")
    assert (found["results"], found["way"]) == ([{"job": "1.0", "result": "running"}], "translated")
    assert person.get("/query.csv?state=running&grid=1").text.splitlines() == ["job,result", "1.0,running"]
    assert person.get("/query?state=faild").status_code == 400
    assert "use one of them" in person.get(at(STATES, state="running")).text
    answer = person.get("/query?host=" + quote("a'b\"c"))
    assert (answer.status_code, "both kinds of quotation marks" in answer.text) == (400, True)

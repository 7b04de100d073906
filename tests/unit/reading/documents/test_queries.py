"""Expressions over one, several and all documents, by both ways."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jim.clock import Clock
from jim.errors import BadRequest, JimError
from jim.model import State
from jim.reading.documents import queries
from jim.reading.documents.queries import Answer, begun, ended, planned
from jim.reading.documents.xml_documents import Of
from jim.reading.view import View
from jim.site.file import Site
from jim.statusdb import open_store
from jim.statusdb.documents.xpath import Most
from jim.statusdb.published import phase_element
from tests.unit.statusdb.documented import stored
from tests.unit.statusdb.grounds import add


@pytest.fixture
def view(tmp_path: Path) -> Iterator[View]:
    with closing(stored(tmp_path)) as made:
        yield View(Site(state=tmp_path), made)


def asked(view: View, expression: str, of: Of, most: Most) -> Answer:
    plan = planned(view, expression, of)
    return ended(plan, begun(view, plan, most), most)


TRANSLATED, WHOLE = "//jim:local_job/@state", "//jim:local_job[true()]/@state"


@pytest.mark.parametrize("expression", [TRANSLATED, WHOLE])
def test_no_more_is_given_than_is_wanted(view: View, expression: str) -> None:
    for most, expected in (((-1, -1), ["running", "waiting"]), ((1, -1), ["running"]), ((-1, 13), ["running"])):
        answer = asked(view, expression, Of(), Most(*most))
        assert [each.text for each in answer] == expected
        known = len(expected) == 2 or expression == WHOLE
        assert answer.total == (2 if known else None)


def test_a_document_too_large_for_a_tree_is_refused_with_a_hint(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "LARGEST_WHOLE", 1000)
    plan = planned(view, WHOLE, Of())
    with pytest.raises(
        BadRequest, match=r"more than 1,000 bytes, and the function true\(\) is not translated"
    ) as error:
        begun(view, plan)
    assert "docs/xpath.md" in str(error.value)
    assert [each.text for each in asked(view, TRANSLATED, Of(), Most())] == ["running", "waiting"]


def test_only_two_children_run_at_once(view: View) -> None:
    plan = planned(view, WHOLE, Of())
    children = queries._children()
    with children, children, pytest.raises(JimError, match="other expressions are being evaluated"):
        ended(plan, begun(view, plan))
    assert len([*ended(plan, begun(view, plan))]) == 2


def test_a_refused_expression_gives_its_place_back(view: View) -> None:
    plan = planned(view, "//jim:local_job[nope()]", Of())
    for _ in range(3):
        with pytest.raises(BadRequest, match="XPath"):
            ended(plan, begun(view, plan))


def test_an_expression_over_some_grid_jobs_counts_only_these(view: View) -> None:
    view.store.add_grid_job(13, "gk-2", "mc", "2026-01-31T11:00:00.000Z", {"job_type": "executable"})
    assert planned(view, TRANSLATED, Of((12, 13))).sentence().endswith("over 2 documents with 2 local jobs")
    assert [each.text for each in asked(view, "//jim:grid_job/@id", Of((13, 12)), Most())] == ["12", "13"]
    assert [each.text for each in asked(view, "//jim:grid_job/@key", Of((13,)), Most())] == ["gk-2"]


@pytest.mark.parametrize("expression", ["//jim:local_job", "//jim:attempt", "//jim:phase"])
def test_elements_are_read_in_parts(tmp_path: Path, expression: str) -> None:
    """A query for each of 1,000 elements would take longer than all the rest."""
    asked_of: dict[int, int] = {}
    for size in (2, 40):
        (tmp_path / f"{size}").mkdir()
        with closing(open_store(tmp_path / f"{size}", Clock(), write=True)) as store:
            add(store, size=size)
            store.intend(1, 1, "mark", store.local_jobs(1, (State.WAITING,)))
            for n in range(size):
                store.publications.publish(1, n, "sim", phase_element("phase sim 1 2 R&D\n"))
            said: list[str] = []
            store.db.set_trace_callback(said.append)  # type: ignore[attr-defined]
            found = [*asked(View(Site(state=tmp_path), store), expression, Of(), Most())]
            assert [each.job for each in found] == [f"1.{n}" for n in range(size)]
            asked_of[size] = len(said)
    assert asked_of[2] == asked_of[40]

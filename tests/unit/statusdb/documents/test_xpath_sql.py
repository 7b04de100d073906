"""Translated expressions give what lxml gives over the whole documents, in the same order."""

from __future__ import annotations

import io
from contextlib import closing
from pathlib import Path

import pytest

from jim.reading.documents.queries import begun, ended, planned
from jim.reading.documents.xml_documents import Of, write
from jim.reading.view import View
from jim.site.file import Site
from jim.statusdb.documents.xml import evaluate
from jim.statusdb.documents.xpath_nodes import NotTranslated, Root
from jim.statusdb.documents.xpath_sql import Translation, for_all
from jim.statusdb.documents.xpath_tree import parsed
from tests.unit.statusdb.expressions import TWELVE, Expressions, store


def both(view: View, expression: str, of: Of) -> tuple[list[tuple[str, str, bool]], list[tuple[str, str, bool]]]:
    """Answer an expression by both ways."""
    plan = planned(view, expression, of)
    assert plan.way == "translated", (plan.outside, expression)
    whole = io.BytesIO()
    write(view, of, whole)
    expected = list(evaluate(io.BytesIO(whole.getvalue()), plan.evaluated))
    return [(each.job, each.text, each.element) for each in ended(plan, begun(view, plan))], expected


def hold(place: Path, seed: int, count: int, expressions: Expressions) -> int:
    """Ask a random store; tell how many results there were."""
    results = 0
    with closing(store(place, seed)) as made:
        view = View(Site(state=place), made)
        one = Of((made.numbers.all()[0],))
        for turn in range(count):
            expression, of = expressions.one(), one if turn % 5 == 0 else Of()
            got, expected = both(view, expression, of)
            if "count(" in expression[:6] or of.one:
                expected = [(job, *told) for (job, *_), (_, *told) in zip(got, expected, strict=True)]
            assert got == expected, (seed, expression, of)
            results += len(got)
    return results


def test_translated_expressions_give_what_lxml_gives(tmp_path: Path) -> None:
    expressions = Expressions(47)
    assert sum(hold(tmp_path, seed, 30, expressions) for seed in range(4)) > 100


@pytest.mark.torture
def test_a_thousand_expressions_over_200_stores(tmp_path: Path) -> None:
    expressions = Expressions(1)
    for seed in range(200):
        hold(tmp_path, seed, 50, expressions)


def test_the_twelve_expressions_are_translated(tmp_path: Path) -> None:
    with closing(store(tmp_path, 3, grids=4, size=30)) as made:
        view = View(Site(state=tmp_path), made)
        for expression in TWELVE:
            got, expected = both(view, expression, Of())
            assert got == expected, expression


@pytest.mark.parametrize(
    "expression",
    [
        "//jim:exit/@code",
        "//jim:output",
        "//jim:local_job[jim:attempt/jim:exit/@code = 3]/@n",
        "//phase",
        "//jim:local_job[1]",
        "//jim:local_job[count(jim:attempt)]",
        "//jim:local_job[last()]",
        "//jim:local_job/..",
        "//*",
        "//@n",
        "//jim:local_job/@*",
        "//jim:local_job[@n + 1 = 2]",
        "//jim:local_job[. = 'x']",
        "//jim:local_job[string-length(@reason) > 2]",
        "//jim:grid_job",
        "//jim:grid_job/@age_s",
        "//jim:local_job[@reason = '\ufffd']",
        "//jim:local_job | //jim:attempt",
        "string(//jim:local_job/@n)",
        "jim:local_job",
        "/",
        "1",
        "//jim:detail",
        "//jim:local_job[" + " or ".join(["@n = 1"] * 200) + "]",
    ],
)
def test_what_is_outside_the_subset_is_not_translated(expression: str) -> None:
    with pytest.raises(NotTranslated):
        Translation(Root("site")).query(parsed(expression))


@pytest.mark.parametrize(
    ("expression", "for_site"),
    [
        ("/jim:grid_job/@id", "/jim:site/jim:grid_job/@id"),
        (
            "count(/jim:grid_job[@id = /jim:grid_job/@id])",
            "count(/jim:site/jim:grid_job[@id = /jim:site/jim:grid_job/@id])",
        ),
        ("//jim:grid_job", "//jim:grid_job"),
        ("/jim:site/jim:grid_job", "/jim:site/jim:grid_job"),
        ("'/jim:grid_job'", "'/jim:grid_job'"),
    ],
)
def test_a_path_from_a_grid_job_means_each_of_them(expression: str, for_site: str) -> None:
    assert for_all(expression, parsed(expression)) == for_site


def test_a_text_cannot_leave_its_quotes(tmp_path: Path) -> None:
    with closing(store(tmp_path, 1)) as made:
        view = View(Site(state=tmp_path), made)
        for text in ("' OR 1 --", "''", "{kind:l}", "\\'", "l.n", "%s"):
            assert both(view, f'//jim:local_job[@reason = "{text}"]/@n', Of()) == ([], [])


def test_a_number_with_a_zero_before_is_another_text(tmp_path: Path) -> None:
    with closing(store(tmp_path, 2, size=20)) as made:
        view = View(Site(state=tmp_path), made)
        got, expected = both(view, "//jim:local_job[@n = '01']/@n", Of())
        assert got == expected == []
        plan = planned(view, "//jim:local_job[@n = '01']/@n", Of())
        assert "warning: @n = '01' compares texts, and never holds" in plan.words()


def test_steps_that_lead_nowhere_are_told(tmp_path: Path) -> None:
    with closing(store(tmp_path, 2)) as made:
        view = View(Site(state=tmp_path), made)
        plan = planned(view, "/jim:grid_job/jim:attempt/@host", Of())
        assert plan.warnings == ("jim:attempt is not directly below grid_job",)
        assert [*ended(plan, begun(view, plan))] == []

"""Documents of tasks, and XPath over them: translated expressions give what lxml gives over the whole documents."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from lxml import etree

from jim import cli
from jim.errors import UnknownJob
from jim.reading.documents.queries import begun, ended, planned
from jim.reading.documents.xml_documents import EVERY, Of, write
from jim.reading.view import View, look
from jim.statusdb.documents.xml import evaluate, schema
from jim.statusdb.documents.xpath_nodes import NotTranslated, Root
from jim.statusdb.documents.xpath_sql import Translation
from jim.statusdb.documents.xpath_tree import parsed
from tests.unit.tasks.chain import Chain

JIM = {"jim": "urn:jim:status:1"}
EXPRESSIONS = """\
//jim:task/@name
/jim:task/@state
/jim:task[@name='reco']/jim:item/@name
//jim:item[@state='completed']/@id
//jim:item[@promised_by='gen/3']/@name
//jim:item[@there='yes' and starts-with(@name, 'gen/')]/@came_s
//jim:item[not(@note)]/@name
//jim:task[jim:item/@state='failed']/@name
//jim:task[count(jim:item) > 3]/@name
count(//jim:item)
count(//jim:task_output[@state='stored'])
//jim:task_piece[@state='failed']/@reason
//jim:task_piece[@state='failed' and @reason_kind='exit']/@number
//jim:task_piece[jim:task_output/@state='broken']/@number
//jim:task_piece[not(jim:task_output/@state='stored')]/@number
//jim:task_piece[count(jim:task_output) = 1]/@local_job
//jim:task_piece[@planned_s > 1 and @planned_s < 99999]/@planned
//jim:task_piece[@wave = 1]/@ended
//jim:task_piece[@seconds > 0.5]/@seconds
//jim:task_piece/jim:task_output/@place
//jim:task_output[@bytes > 4]/@sha256
//jim:task_output[@output='gen' and @k = 0]/@changed
//jim:task_output[@fix = 1]/@name
/jim:task/jim:task_piece[@number >= 1]/jim:task_output[@state != 'stored']/@state
//jim:task[@priority = 0]/jim:wave[not(@test)]/@grid
//jim:wave[@pieces > 1]/@number
//jim:wave/@created
//jim:task[jim:wave[@state='settled']]/@updated
//jim:task[jim:task_piece/jim:task_output/@place = //jim:task_output/@place]/@name
//jim:task[@summary='the first of three']/@tests
count(//jim:task[@name='gen']/jim:task_piece[@state='completed' or @state='replaced'])
//jim:local_job/@n
//jim:grid_job/@id
/jim:site/jim:task/@owner
/jim:site/jim:item/@name
//jim:item/jim:task_output/@name
"""


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    """Tasks of which a piece has failed, and was recovered with a fix; another has failed for good."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        made = Chain(tmp_path_factory.mktemp("chain"), monkeypatch)
        monkeypatch.setenv("JIM_STATE", str(made.site.state))
        monkeypatch.delenv("JIM_SITE", raising=False)
        monkeypatch.setattr("jim.reading.view.Clock", lambda: made.clock)
        go_on(made)
        yield made


def go_on(made: Chain) -> None:
    text = made.text(events=12, each=3, files=2).replace(
        'name = "gen"\n', 'name = "gen"\nsummary = "the first of three"\n', 1
    )
    made.start(text, "gen", "reco", "merge")
    made.until(lambda: len(made.batch.tasks) == 4)
    made.begin()
    made.batch.finish("1", 2, code=3)
    made.until(lambda: made.work() or made.counts("output gen", "gen").get("stored") == 3)
    made.ask("fix", "gen", changes={"memory_mb": 3000})
    made.ask("recover", "gen", parameters={"events_per_piece": 3})
    made.until(lambda: made.work() or made.counts("output reco", "reco").get("stored") == 2)
    made.until(lambda: made.fail("merge") or made.counts("pieces", "merge") == {"failed": 1})


@pytest.fixture
def view(chain):
    """Who reads them."""
    made = look()
    with closing(made.store):
        yield made


def document(view: View, of: Of) -> bytes:
    whole = io.BytesIO()
    write(view, of, whole)
    return whole.getvalue()


def both(view: View, expression: str, of: Of) -> tuple[list[str], list[str], bool]:
    """Answer an expression in both ways."""
    return in_both_ways(view, expression, of, document(view, of))


def in_both_ways(view: View, expression: str, of: Of, written: bytes) -> tuple[list[str], list[str], bool]:
    plan = planned(view, expression, of)
    whole = [text for _, text, _ in evaluate(io.BytesIO(written), plan.evaluated)]
    return [each.text for each in ended(plan, begun(view, plan))], whole, plan.way == "translated"


@pytest.mark.parametrize("of", [Of(), Of(task=EVERY), Of(task="gen"), Of(task="merge"), Of((1,)), Of((1, 2))])
def test_translated_expressions_over_tasks_give_what_lxml_gives(view, of) -> None:
    written = document(view, of)
    for expression in EXPRESSIONS.splitlines():
        got, expected, translated = in_both_ways(view, expression, of, written)
        assert got == expected, (expression, of)
        assert translated, expression


def test_most_of_these_expressions_find_something(view) -> None:
    plans = {expression: planned(view, expression, Of()) for expression in EXPRESSIONS.splitlines()}
    found = {expression: [each.text for each in ended(plan, begun(view, plan))] for expression, plan in plans.items()}
    assert [expression for expression, results in found.items() if not results] == [
        "/jim:site/jim:item/@name",
        "//jim:item/jim:task_output/@name",
    ]
    assert found["//jim:task/@name"] == ["gen", "reco", "merge"]
    assert found["//jim:task_piece[@state='failed']/@reason"] == ["exit 3"]
    assert found["//jim:task_output[@fix = 1]/@name"] == ["gen.dat"]


@pytest.mark.parametrize("of", [Of(), Of(task=EVERY), Of(task="gen"), Of(task="reco"), Of((1, 2))])
def test_documents_of_tasks_follow_the_schema(view, of) -> None:
    told = etree.fromstring(document(view, of))
    etree.RelaxNG(etree.fromstring(schema())).assertValid(told)
    tasks = [each.get("name") for each in told.iter("{urn:jim:status:1}task")]
    assert tasks == ([of.task] if of.one else [] if of.grids else ["gen", "reco", "merge"])


def test_a_document_tells_what_the_store_has(chain, view) -> None:
    told = etree.fromstring(document(view, Of(task="gen")))
    counted = {
        (each.get("what"), each.get("state")): int(each.get("count")) for each in told.iterfind("jim:tally", JIM)
    }
    assert counted == {
        **{("items", state): count for state, count in chain.counts("items", "gen").items()},
        **{("pieces", state): count for state, count in chain.counts("pieces", "gen").items()},
        **{("output gen", state): count for state, count in chain.counts("output gen", "gen").items()},
    }
    pieces = told.findall("jim:task_piece", JIM)
    assert [each.get("state") for each in pieces] == chain.pieces("gen")
    (part,) = pieces[4].findall("jim:part", JIM)
    assert (part.get("first_event"), part.get("last_event")) == ("4", "6")
    (output,) = pieces[0].findall("jim:task_output", JIM)
    assert output.get("place") == f"{chain.stores['gen']}/gen-0000000-gen.dat"
    (fix,) = told.findall("jim:fix/jim:attribute", JIM)
    assert (fix.get("name"), fix.text) == ("memory_mb", "3000")
    assert told.find("jim:source/jim:attribute[@name='events']", JIM).text == "12"


def test_results_name_the_task_or_the_piece_that_they_belong_to(view) -> None:
    for expression, jobs in (
        ("//jim:task_piece[@state='failed']/@number", ["merge/0"]),
        ("//jim:task_output[@fix = 1]/@place", ["gen/4"]),
        ("//jim:item[@name='gen/0']/@id", ["reco"]),
    ):
        plan = planned(view, expression, Of())
        assert [each.job for each in ended(plan, begun(view, plan))] == jobs


def test_what_is_outside_of_the_subset_is_answered_over_the_whole_document(view) -> None:
    for expression in ("//jim:item", "//jim:tally/@count", "//jim:part/@name", "//jim:task_piece[1]/@number"):
        with pytest.raises(NotTranslated):
            Translation(Root("site")).query(parsed(expression))
        got, expected, translated = both(view, expression, Of(task="reco"))
        assert (bool(got), got == expected, translated) == (True, True, False), expression


def test_a_plan_says_over_how_many_tasks_it_leads(view) -> None:
    assert planned(view, "//jim:item/@name", Of(task="reco")).sentence().endswith("over 1 task with 5 items")
    assert " and 3 tasks with " in planned(view, "//jim:item/@name", Of()).sentence()
    assert planned(view, "//jim:item/@name", Of((1,))).warnings == ("jim:item is not below root",)


def test_a_text_cannot_leave_its_quotes(view) -> None:
    for text in ("' OR 1 --", "i.name", "{}", "{0.id}", "%s"):
        assert both(view, f'//jim:item[@name = "{text}"]/@id', Of()) == ([], [], True)


def test_there_is_no_document_of_a_task_that_is_not_there(view) -> None:
    with pytest.raises(UnknownJob):
        document(view, Of(task="nothing"))


def test_jim_xml_prints_tasks_and_asks_them(chain, capfdbinary) -> None:
    assert cli.main(["xml", "--task", "gen"]) == 0
    assert etree.fromstring(capfdbinary.readouterr().out).get("name") == "gen"
    assert cli.main(["xml", "--tasks", "--xpath", "//jim:task_piece[@state='failed']/@reason"]) == 0
    assert capfdbinary.readouterr().out == b"exit 3\n"
    assert cli.main(["xml", "--tasks", "--xpath", "//jim:item[@came > '2026']/@name", "--explain"]) == 0
    assert re.search(rb"never holds: use @came_s", b" ".join(capfdbinary.readouterr().out.split()))
    assert cli.main(["xml", "--tasks", "--all"]) == 2

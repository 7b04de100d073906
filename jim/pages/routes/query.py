"""/query: a form, and XPath, over one, several or all grid jobs. The page says how it will answer before it answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from flask import Flask, Response, request

from jim.errors import BadRequest
from jim.pages.addresses import TASK_NAME
from jim.pages.admission import require_look
from jim.pages.app import DOCUMENT_SECONDS, Pages
from jim.pages.made import Made, accepted, answer, as_csv, as_json, name_of_page, tag_of
from jim.pages.routes.files import place, send_xml
from jim.reading import filters, lists
from jim.reading.documents import queries, query_form
from jim.reading.documents.queries import Answer, Plan, Result
from jim.reading.documents.xml_documents import Of, unnamed
from jim.reading.view import View
from jim.statusdb.documents import xml_text
from jim.statusdb.documents.xpath import ALL, Most
from jim.statusdb.documents.xpath_tree import LONGEST
from jim.statusdb.list_filters import LocalJobsAsked, LocalJobSeen

FORMATS = ("html", "json", "csv", "xml")
ON_A_PAGE = Most(1_000, 1024 * 1024)
SQL_SECONDS = 2.0
ROWS_SHOWN = 200  # of what the form finds
MOST_CHOICES = 100  # of users
QUERY = {
    "xpath": filters.Filter(
        f"an XPath expression of at most {LONGEST:,} characters", "EXPR", longest=LONGEST, once=True
    ),
    "grid": filters.Filter(
        "grid jobs, such as 12 or 12,15", pattern=r" *\d{1,15}( *[, ] *\d{1,15}){0,99} *", once=True
    ),
    "task": filters.Filter("a task, or * for all tasks", "NAME", pattern=rf"\*|{TASK_NAME}", once=True),
    "whole": filters.Filter("evaluate it over the whole documents", choices=("yes",), once=True),
    **query_form.FIELDS,
}
EXAMPLES = (
    ("which local jobs failed", "//jim:local_job[@state='failed']/@n"),
    ("which were tried more than once", "//jim:local_job[count(jim:attempt) > 1]/@n"),
    ("why attempts failed on a host", "//jim:attempt[@host='wn013' and @verdict='failed']/@reason"),
    ("how many local jobs run", "count(//jim:local_job[@state='running'])"),
    ("which grid jobs are unfinished", "//jim:grid_job[@step != 'finished']/@id"),
    ("which items of tasks failed", "//jim:task/jim:item[@state='failed']/@name"),
    ("where outputs of a task are stored", "/jim:task[@name='mc']/jim:task_piece/jim:task_output/@place"),
    ("bytes put out, over whole documents", "sum(//jim:exit/jim:output/@bytes)"),
)


class LocalJobFound(NamedTuple):
    """A local job that the form has found."""

    job: str
    seen: LocalJobSeen


class Asked(NamedTuple):
    """What the page was asked, and what it found."""

    given: filters.Filters
    plan: Plan | None = None
    results: tuple[Result, ...] = ()
    rows: tuple[LocalJobFound, ...] = ()  # the results of the form
    answer: Answer | None = None
    wrong: str = ""  # with the expression


def add(app: Flask, pages: Pages) -> None:
    """Add the page, and its other formats."""
    app.add_url_rule("/query", "query", partial(query, pages, ""))
    for kind in FORMATS[1:]:
        app.add_url_rule(f"/query.{kind}", f"query.{kind}", partial(query, pages, kind))


def query(pages: Pages, kind: str) -> Response:
    """Answer an expression; a page evaluates one over whole documents only if somebody asks for that."""
    require_look()
    kind = kind or accepted(FORMATS)
    given = filters.read(QUERY, request.args.items(multi=True))
    if kind == "html":
        return _page(pages, given)
    if not _is_asked(given):
        raise BadRequest("this needs xpath=EXPR or a field of the form such as state=failed, and perhaps grid=12,15")
    plan, found = _answered(pages, given, ALL if kind == "xml" else ON_A_PAGE)
    if kind == "xml":
        return send_xml(unnamed(partial(_write_xml, plan, found)))
    results = tuple(found)
    made = _csv(results) if kind == "csv" else as_json(_document(plan, results, found))
    return answer(made, tag_of(name_of_page(kind), made.body))


def _page(pages: Pages, given: filters.Filters) -> Response:
    asked, status = Asked(given), 200
    if _is_asked(given):
        try:
            asked = _asked(pages, given)
        except BadRequest as error:
            asked, status = Asked(given, wrong=str(error)), 400
    with pages.viewing() as view:
        types_and_owners = view.store.seen.choices(MOST_CHOICES)
        facts = {"states": lists.STATES, "owners": types_and_owners[1], "is_form": query_form.is_filled(given)}
        made = pages.html(view, "query.html", asked=asked, most=ON_A_PAGE.nodes, examples=EXAMPLES, **facts)
    return answer(replace(made, status=status), tag_of(name_of_page("html"), made.body))


def _asked(pages: Pages, given: filters.Filters) -> Asked:
    with pages.viewing() as view:
        plan = _plan(view, given)
    if not plan.query and not given.of("whole"):
        return Asked(given, plan)
    plan, found = _answered(pages, given, ON_A_PAGE)
    results = tuple(found)  # only then the answer knows how many there are
    with pages.viewing() as view:
        rows = tuple(_rows(view, results[:ROWS_SHOWN])) if query_form.is_filled(given) else ()
    return Asked(given, plan, results, rows, found)


def _rows(view: View, results: tuple[Result, ...]) -> Iterator[LocalJobFound]:
    """Yield what people want to know of the local jobs among some results."""
    numbers: dict[int, list[int]] = {}
    for result in results:
        grid, _, n = result.job.partition(".")
        numbers.setdefault(int(grid), []).append(int(n))
    for number, some in numbers.items():
        wanted = LocalJobsAsked(numbers=tuple((n, n) for n in some))
        for seen in view.store.seen.local_jobs_page(number, wanted, len(some)):
            yield LocalJobFound(f"{number}.{seen.n}", seen)


def _is_asked(given: filters.Filters) -> bool:
    return bool(given.one("xpath").strip()) or query_form.is_filled(given)


def _plan(view: View, given: filters.Filters) -> Plan:
    named = given.one("grid").replace(",", " ").split()
    if named and given.of("task"):
        raise BadRequest("grid and task: name grid jobs, or a task")
    of = Of(tuple(dict.fromkeys(map(int, named))), task=given.one("task"))
    if query_form.is_filled(given) and given.of("xpath"):
        raise BadRequest("xpath and the fields of the form: use one of them")
    written = query_form.expression(view, given) if query_form.is_filled(given) else given.one("xpath")
    return queries.planned(view, written, of)


def _answered(pages: Pages, given: filters.Filters, most: Most) -> tuple[Plan, Answer]:
    with place(pages):
        with pages.viewing(DOCUMENT_SECONDS) as view:
            plan = _plan(view, given)
            if plan.query:
                with view.store.seen.at_most(DOCUMENT_SECONDS if most == ALL else SQL_SECONDS):
                    file = queries.begun(view, plan, most)
            else:
                file = queries.begun(view, plan, most)
        return plan, queries.ended(plan, file, most)


def _document(plan: Plan, results: tuple[Result, ...], found: Answer) -> dict[str, Any]:
    return {
        "xpath": plan.expression,
        "way": plan.way,
        "grid_jobs": plan.grid_jobs,
        "local_jobs": plan.local_jobs,
        "tasks": plan.tasks,
        "items": plan.items,
        "warnings": list(plan.warnings),
        "results": [{"job": each.job, "result": each.text} for each in results],
        "shown_of": shown_of(results, found),
    }


def shown_of(results: tuple[Result, ...], found: Answer) -> int | str:
    """Return the number of all results, in words if they are not all counted."""
    return f"more than {len(results)}" if found.total is None else found.total


def _csv(results: tuple[Result, ...]) -> Made:
    return as_csv("query", ("job", "result"), ((each.job, each.text) for each in results))


def _write_xml(plan: Plan, found: Answer, out: Any) -> None:
    facts = {"xpath": plan.expression, "way": plan.way, "grid_jobs": plan.grid_jobs}
    out.write(f"{xml_text.DECLARATION}<jim:results{xml_text.OUTER}{xml_text.attributes(facts)}>\n".encode())
    for line in _results(found):
        out.write(line.encode())
    out.write(b"</jim:results>\n")


def _results(found: Answer) -> Iterator[str]:
    for each in found:
        content = each.text if each.element else xml_text.text(xml_text.safe(each.text))
        yield f"<jim:result{xml_text.attributes({'job': each.job})}>{content}</jim:result>\n"

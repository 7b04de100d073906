"""Answers XPath expressions over one, several or all documents: translated into SQL, or over whole documents.

How an expression is going to be answered is known before anything is read: from its tree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache, partial
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from jim.errors import BadRequest, JimError
from jim.guide import guide
from jim.reading.documents.xml_documents import LARGEST_WHOLE, Of, TooLarge, grid_jobs_of, tasks_of, unnamed, written
from jim.reading.view import View
from jim.statusdb.documents import writing, xml_text
from jim.statusdb.documents.task_elements import TASK_ELEMENTS
from jim.statusdb.documents.xpath import ALL, Most, xpath
from jim.statusdb.documents.xpath_hints import hints
from jim.statusdb.documents.xpath_nodes import NotTranslated, Root
from jim.statusdb.documents.xpath_sql import Translation, for_all
from jim.statusdb.documents.xpath_tree import Tree, parsed
from jim.statusdb.list_filters import Query

if TYPE_CHECKING:
    from threading import BoundedSemaphore

CHILDREN = 2  # at once
TRANSLATED, WHOLE = "translated", "whole"
HINT = (
    "JIM reads at most 100 MB of XML whole. Name fewer grid jobs, or write an expression that JIM translates: paths "
    "over jim:grid_job, jim:local_job, jim:attempt, jim:detail/jim:phase, jim:task and what it holds, to an attribute "
    f"or a count ({guide('xpath.md')})"
)


class Result(NamedTuple):
    """One result, and the job or task that it belongs to, such as 12, 12.117, mc or mc/3; empty: to none."""

    job: str
    text: str
    element: bool = False  # the text is XML


class Plan(NamedTuple):
    """How an expression is going to be answered."""

    expression: str
    of: Of
    evaluated: str  # the expression, as it is evaluated over the document
    query: Query | None  # None: over the whole document
    outside: str  # the part that is not translated
    warnings: tuple[str, ...]
    grid_jobs: int
    local_jobs: int
    tasks: int = 0
    items: int = 0

    @property
    def way(self) -> str:
        """Return the way in one word."""
        return TRANSLATED if self.query else WHOLE

    def words(self) -> str:
        """Return the plan for a terminal."""
        return "\n".join([self.sentence(), *(f"warning: {each}" for each in self.warnings)])

    def sentence(self) -> str:
        """Tell the way, and over how many documents it leads."""
        if self.query:
            return f"translated: JIM asks the status DB, {self.over}"
        return f"whole: JIM writes the XML and evaluates the expression, {self.over}; {self.outside} is not translated"

    @property
    def over(self) -> str:
        """Tell over how many documents it leads."""
        jobs = f"{_counted(self.grid_jobs, 'document')} with {_counted(self.local_jobs, 'local job')}"
        tasks = f"{_counted(self.tasks, 'task')} with {_counted(self.items, 'item')}"
        return f"over {' and '.join([*([] if self.of.task else [jobs]), *([tasks] if self.tasks else [])])}"


class Answer:
    """Results in a file, read one after the other. `total` is their number; None: it is not known."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.total: int | None = None

    def __iter__(self) -> Iterator[Result]:
        with closing(self._file):
            self._file.seek(0)
            for line in self._file:
                each = json.loads(line)
                if isinstance(each, list):
                    yield Result(*each)
                elif each is not None:
                    self.total = each


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def planned(view: View, expression: str, of: Of) -> Plan:
    """Find out how to answer an expression; refuse one that is not XPath, or of no job."""
    tree = parsed(expression)
    evaluated = expression if of.one else for_all(expression, tree)
    translation = Translation(_root(view, of))
    query, outside = _translated(translation, parsed(evaluated))
    warnings = *hints(tree), *dict.fromkeys(translation.never)
    return Plan(expression, of, evaluated, query, outside, warnings, *_sizes(view, of))


def _root(view: View, of: Of) -> Root:
    """Return what the document of an expression is, for its translation."""
    if of.task:
        tasks = tuple(each.id for each in tasks_of(view, of))
        return Root("task" if of.one else "site", tasks=tasks, lacks=("grid_job",))
    lacks = ("task",) if of.grids else ()
    return Root("site" if not of.one else "grid_job" if of.n is None else "local_job", of.grids, of.n, lacks=lacks)


def _sizes(view: View, of: Of) -> tuple[int, int, int, int]:
    """Count the grid jobs, local jobs, tasks and items in a document."""
    grids, tasks = grid_jobs_of(view, of), [each.id for each in tasks_of(view, of)]
    if of.grids:
        size = sum(1 if of.n is not None else view.grid_job(number).size for number in of.grids)
    else:
        size = sum(sum(each.values()) for each in view.store.seen.tallies(grids).values())
    items = sum(sum(each.get("items", {}).values()) for each in view.store.seen_tasks.counts(tasks).values())
    return len(grids), size, len(tasks), items


def _translated(translation: Translation, tree: Tree) -> tuple[Query | None, str]:
    try:
        return translation.query(tree), ""
    except NotTranslated as error:
        return None, str(error)


def begun(view: View, plan: Plan, most: Most = ALL) -> IO[bytes]:
    """Do the part of an answer that reads the store: the results in a file, or the document to evaluate."""
    if plan.query:
        with view.store.snapshot():
            return unnamed(partial(_write_found, view, plan.query, most))
    try:
        return written(view, plan.of, LARGEST_WHOLE)
    except TooLarge as error:
        raise BadRequest(f"{error}, and {plan.outside} is not translated. {HINT}") from error


def ended(plan: Plan, file: IO[bytes], most: Most = ALL) -> Answer:
    """Do the rest, which needs no store."""
    if plan.query:
        return Answer(file)
    children = _children()
    if not children.acquire(blocking=False):
        file.close()
        raise JimError("other expressions are being evaluated over whole documents; try again in a while")
    try:
        with closing(file):
            return Answer(unnamed(lambda out: xpath(file, plan.evaluated, out.file, most)))
    finally:
        children.release()


@cache
def _children() -> BoundedSemaphore:
    from threading import BoundedSemaphore  # a command for a terminal needs no threads

    return BoundedSemaphore(CHILDREN)


def answered(view: View, plan: Plan) -> Answer:
    """Return all results of an expression; nothing that is read slowly holds up the store."""
    file = begun(view, plan)
    view.store.close()
    return ended(plan, file)


def _write_found(view: View, query: Query, most: Most, out: Any) -> None:
    size, count = 0, 0
    for result in _results(view, query, most.nodes + 1 if most.nodes >= 0 else -1):
        size += len(result.text)
        if count == most.nodes or size > most.size >= 0:
            out.write(b"null\n")  # there are more
            return
        count += 1
        out.write(f"{json.dumps(result)}\n".encode())
    out.write(f"{count}\n".encode())


def _results(view: View, query: Query, limit: int) -> Iterator[Result]:
    """Yield results; elements are read in parts, as a query for each would take longer than all the rest."""
    tasks = {each.id: each.name for each in view.store.tasks.all()} if query.element in TASK_ELEMENTS else {}
    rows = view.store.documents.found(query, strict=view.site.site.strict_status, limit=limit)
    while part := list(islice(rows, writing.AT_ONCE)):
        if query.element and not query.attribute:
            texts = writing.elements(view.store, query.element, part)
            yield from (Result(_job(query, row, tasks), text, True) for row, text in zip(part, texts, strict=True))
        else:
            yield from (Result(_job(query, row, tasks), xml_text.safe(str(row[-1]))) for row in part)


def _job(query: Query, row: Sequence[Any], tasks: Mapping[int, str]) -> str:
    """Return the job, the task or the piece that a result belongs to."""
    if not query.element:
        return ""
    if query.element in TASK_ELEMENTS:
        name = tasks.get(row[0], "")
        return f"{name}/{row[1]}" if query.element in ("task_piece", "task_output") else name
    return str(row[0]) if query.element in ("grid_job", "queued") or row[1] < 0 else f"{row[0]}.{row[1]}"

"""/tasks/T: one task."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from flask import Flask

from jim.pages.admission import document_of_task, require_look, seen_of_task
from jim.pages.app import Pages, require_no_filter
from jim.pages.cache import SOON_SECONDS
from jim.pages.laid_aside import LaidAside
from jim.pages.made import Made, as_json
from jim.pages.routes.files import document
from jim.reading import filters
from jim.reading.filters import Filters
from jim.reading.job.usage import usage
from jim.reading.tasks import facts as task_facts
from jim.reading.tasks import graph as task_graph
from jim.reading.tasks import lists as task_lists
from jim.reading.tasks import pace as task_pace
from jim.reading.tasks import task as tasks
from jim.reading.tasks import tests as task_tests
from jim.reading.tasks import waits as task_waits
from jim.reading.tasks import words as task_words
from jim.reading.tasks.effects import offered
from jim.reading.view import View
from jim.statusdb.task_rows import Task

GROUPS_SHOWN = 20
HOSTS_SHOWN = 12
LINES = 50  # of the journal
AT_ONCE = 5_000  # pieces of a task of which everything is counted for each page
NOTHING_YET: dict[str, Any] = {
    "past": task_pace.Past(None, ()),
    "spreads": (),
    "usage": (),
    "hosts": (),
    "sums": task_facts.Sums(0, 0, 0),
}


def add(app: Flask, pages: Pages) -> None:
    """Add the page."""
    pages.add(app, "/tasks/<TASK>", task_page, "html", "json", "xml", name="task", document=document)
    pages.add(app, "/tasks/<TASK>/explain.json", explained, "json", name="task_explained")


def task_page(pages: Pages, view: View, kind: str, task: str) -> Made:
    """Show one task."""
    require_no_filter()
    found = view.store.tasks.named(task)
    if kind == "json":
        return as_json(document_of_task(tasks.in_detail(view, found)))
    return pages.html(view, "task.html", task=found, **_facts(pages, view, found))


def _facts(pages: Pages, view: View, task: Task) -> dict[str, Any]:
    shown, others = task_facts.failures(view, task)
    groups = task_lists.groups_page(view, task, Filters(task_lists.GROUPS, (("limit", str(GROUPS_SHOWN)),)))
    return {
        "record": seen_of_task(tasks.seen_alone(view, task)),
        "told": task_words,
        "waits": list(task_waits.waits(view, task)),
        "offered": [each.value for each in offered(view, task)] if pages.access.controls else (),
        "sources": task_facts.sources(view, task),
        "groups": groups,
        "failures": shown,
        "others": others,
        **_slow(pages, view, task),
        "holes": {each.name for each in pages.black_holes(0.0)},
        "streams": task_facts.streams(view, task),
        "waves": task_facts.live_waves(view, task),
        "test": task_tests.test_facts(view, task),
        "fixes": view.store.tasks.fixes(task.id),
        "differs": tasks.file_differs(task),
        "aside": LaidAside(view.site.state).about(task),
        "graph": task_graph.graph(view, [task.name]),
        "journal": view.store.tasks.journal(task.id, LINES)[::-1],
        "reason_query": lambda words: urlencode(
            [("state", "failed"), ("reason", words[: filters.LONGEST])], errors="surrogateescape"
        ),
    }


def _slow(pages: Pages, view: View, task: Task) -> dict[str, Any]:
    """Return what needs a read of many rows; of a large task, a thread finds it out."""
    if task.next_piece <= AT_ONCE:
        return {**_counted(view, task), "found_at": ""}
    at, found = pages.cache.answer(f"task {task.id}", lambda other: _counted(other, task), SOON_SECONDS)
    return {**(found or NOTHING_YET), "found_at": at}


def _counted(view: View, task: Task) -> dict[str, Any]:
    ran = task_pace.measured(view, task)
    return {
        "past": task_pace.past(view, task),
        "spreads": task_pace.spreads_of(ran),
        "usage": usage([each for each, _ in ran]),
        "hosts": view.store.seen_tasks.hosts(task.id, HOSTS_SHOWN),
        "sums": task_facts.sums(view, task),
    }


def explained(_: Pages, view: View, kind: str, task: str) -> Made:
    """Show what a task waits for."""
    require_look()
    require_no_filter()
    return as_json([each._asdict() for each in task_waits.waits(view, view.store.tasks.named(task))])

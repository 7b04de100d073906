"""/tasks: the list of tasks."""

from __future__ import annotations

from functools import partial

from flask import Flask, g, request

from jim.pages.admission import seen_of_task
from jim.pages.app import Pages
from jim.pages.made import Made, as_csv, as_json
from jim.pages.routes.files import document
from jim.reading import filters
from jim.reading.documents.xml_documents import EVERY
from jim.reading.tasks import graph as task_graph
from jim.reading.tasks import lists as task_lists
from jim.reading.tasks import words as task_words
from jim.reading.tasks.records import TaskSeen
from jim.reading.view import View
from jim.statusdb.task_rows import ItemState, PieceState

COLUMNS = ("name", "state", "outcome", "open", "on_the_way", "queued", "eta_seconds", "priority", "reason")
MOST_DRAWN = 40  # fed tasks; of more, `jim task graph` makes a picture
TIMES = ("created", "updated")


def add(app: Flask, pages: Pages) -> None:
    """Add the page."""
    pages.add(app, "/tasks", tasks, "html", "json", "csv", "xml", document=partial(document, task=EVERY))


def tasks(pages: Pages, view: View, kind: str) -> Made:
    """Show a page of the list."""
    asked = filters.read(task_lists.TASKS, request.args.items(multi=True))
    page = task_lists.tasks_page(view, asked)
    page = page._replace(rows=[seen_of_task(each) for each in page.rows])
    after = f"?{asked.but(after=page.after).query()}" if page.after else ""
    following = f"{g.root}/tasks.{kind}{after}" if after else ""
    if kind == "csv":
        counted = [*(f"items {each}" for each in ItemState), *(f"pieces {each}" for each in PieceState)]
        return as_csv("tasks", (*COLUMNS, *TIMES, *counted), map(_row, page.rows), following)
    if kind == "json":
        return as_json(
            {"tasks": [each.to_record() for each in page.rows], "next": following or None, "shown_of": page.shown_of}
        )
    fed = [each.name for each in view.store.tasks.all() if each.spec.connectors]
    graph = task_graph.graph(view, fed) if 0 < len(fed) <= MOST_DRAWN else None
    facts = {"asked": asked, "page": page, "after": after, "told": task_words, "graph": graph}
    return pages.html(view, "tasks.html", **facts)


def _row(task: TaskSeen) -> tuple[object, ...]:
    items = (task.items.get(each, 0) for each in ItemState)
    pieces = (task.pieces.get(each, 0) for each in PieceState)
    return (*(getattr(task, name) for name in (*COLUMNS, *TIMES)), *items, *pieces)

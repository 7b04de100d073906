"""/jobs: the list of grid jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlencode

from flask import Flask, g, request

from jim.errors import UnknownJob
from jim.jobs import GridJob
from jim.model import State
from jim.pages.admission import seen_of_task
from jim.pages.app import Pages
from jim.pages.made import Made, as_csv, as_json
from jim.pages.shown import address
from jim.pages.tokens import Role
from jim.reading import filters, lists
from jim.reading.job.names import names_of
from jim.reading.tasks import words as task_words
from jim.reading.tasks.task import seen
from jim.reading.view import View
from jim.statusdb.task_rows import TaskState

MOST_CHOICES = 100
TASKS_SHOWN = 20
OVER = (TaskState.FINISHED, TaskState.CANCELLED)
ID = re.compile(r"(\d{1,15})\.(\d{1,8})", re.ASCII)  # of a local job
COLUMNS = ("id", "key", "type", "owner", "step", "status", "herd", "reason", "created", "updated")


def add(app: Flask, pages: Pages) -> None:
    """Add the page."""
    pages.add(app, "/jobs", grid_jobs, "html", "json", "csv")


def grid_jobs(pages: Pages, view: View, kind: str) -> Made:
    """Show a page of the list."""
    asked = filters.read(lists.WITH_WAVES, request.args.items(multi=True))
    tasks = view.store.tasks.all() if kind == "html" and lists.is_folded(asked) else []
    may_look = g.role is not Role.SEE
    page = lists.grid_jobs(view, asked, names=may_look, folded=bool(tasks))
    after = f"?{asked.but(after=page.after).query()}" if page.after else ""
    following = f"{g.root}/jobs.{kind}{after}" if after else ""
    if kind == "csv":
        head = (*COLUMNS, *["name"] * may_look, "size", *map(_value, State))
        return as_csv("jobs", head, _rows(view, page, named=may_look), following)
    if kind == "json":
        found = lists.records(view, page.rows, names_of(view, page.rows) if may_look else {})
        return as_json({"jobs": found, "next": following or None, "shown_of": page.shown_of})
    types, owners = view.store.seen.choices(MOST_CHOICES)
    tallies = view.store.seen.tallies([job.id for job in page.rows])
    return pages.html(
        view,
        "jobs.html",
        asked=asked,
        page=page,
        after=after,
        tallies=tallies,
        names=names_of(view, page.rows) if may_look else {},
        choices={"type": types, "owner": owners},
        found=_named(view, asked),
        tasks=list(map(seen_of_task, seen(view, [each for each in tasks if each.state not in OVER][:TASKS_SHOWN]))),
        folded=len(tasks),
        told=task_words,
        of_task=view.store.seen_tasks.tasks_of([job.id for job in page.rows if job.is_of_task]),
    )


def _value(state: State) -> str:
    return state.value


def _rows(view: View, page: lists.Page[GridJob], *, named: bool) -> Iterator[tuple[object, ...]]:
    names = names_of(view, page.rows) if named else {}
    for job in page.rows:
        record = view.record(job)
        counts = (record["counts"].get(state.value, 0) for state in State)
        yield (*(record[name] for name in COLUMNS), *[names.get(job.id, "")] * named, job.size, *counts)


def _named(view: View, asked: filters.Filters) -> list[tuple[str, str]]:
    """Return links to the local job, batch job, mark or host that the only word of a search names."""
    word = lists.first_word(asked.one("q"))
    if not word:
        return []
    found = _local_job(view, word)
    carried = view.store.seen.carried_by(word)
    found += [(f"submission {k} of grid job {grid}", f"/jobs/{grid}?submission={k}") for grid, k in carried]
    grids = view.store.seen.ran_on(word, MOST_CHOICES)
    found += [(f"host {word}", address("hosts", word))] if grids else []
    found += [(f"host {word}, in grid job {grid}", f"/jobs/{grid}?{urlencode({'host': word})}") for grid in grids]
    return found


def _local_job(view: View, word: str) -> list[tuple[str, str]]:
    """Return a link to the local job of this id, if there is one."""
    if numbers := ID.fullmatch(word):
        with suppress(UnknownJob):
            local = view.store.local_job(int(numbers[1]), int(numbers[2]))
            return [(f"local job {local.grid}.{local.n}", f"/jobs/{local.grid}/{local.n}")]
    return []

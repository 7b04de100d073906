"""/tasks/T/groups, /tasks/T/items and /tasks/T/pieces: lists of what a task works on; /tasks/T/p: one piece."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from flask import Flask, g, request

from jim.errors import UnknownJob
from jim.jobs import LocalJob
from jim.pages.admission import require_look
from jim.pages.app import Pages, as_csv, as_json, require_no_filter
from jim.pages.live import Made
from jim.pages.tokens import Role
from jim.reading import filters, task_lists, task_waits, tasks
from jim.reading.filters import Filters
from jim.reading.lists import Page
from jim.reading.task_words import part_in_words
from jim.reading.view import View
from jim.statusdb.asked import ItemSeen, PieceSeen
from jim.statusdb.task_rows import Task

ITEM = ("id", "name", "group", "state", "size", "since", "note")
PIECE = ("piece", "group", "state", "wave", "local_job", "attempts_before", "ended", "reason")
GROUP = ("group", "closed", "items", "pieces")
ITEMS_SHOWN = 500  # of one piece


def add(app: Flask, pages: Pages) -> None:
    """Add the pages."""
    pages.add(app, "/tasks/<TASK>/groups", groups, "html", "json", "csv", name="task_groups")
    pages.add(app, "/tasks/<TASK>/items", items, "html", "json", "csv", name="task_items")
    pages.add(app, "/tasks/<TASK>/pieces", pieces, "html", "json", "csv", name="task_pieces")
    pages.add(app, "/tasks/<TASK>/<P>", piece, "html", "json", name="task_piece")
    pages.add(app, "/tasks/<TASK>/<P>/explain.json", piece_explained, "json", name="task_piece_explained")


def groups(pages: Pages, view: View, kind: str, task: str) -> Made:
    """Show a page of the groups of a task."""
    found, asked = view.store.task_named(task), _asked(task_lists.GROUPS)
    page = task_lists.groups_page(view, found, asked)
    records = [each._asdict() for each in page.rows]
    if kind == "csv":
        return as_csv("groups", GROUP, ([_counted(record[name]) for name in GROUP] for record in records))
    return _listed(pages, view, kind, "groups", found, page, asked, records)


def items(pages: Pages, view: View, kind: str, task: str) -> Made:
    """Show a page of the items of a task."""
    require_look()
    found, asked = view.store.task_named(task), _asked(task_lists.ITEMS)
    page = task_lists.items_page(view, found, asked)
    records = [dict(zip(ITEM, _item(each), strict=True)) for each in page.rows]
    if kind == "csv":
        return as_csv("items", ITEM, (record.values() for record in records))  # type: ignore[misc]
    return _listed(pages, view, kind, "items", found, page, asked, records)


def pieces(pages: Pages, view: View, kind: str, task: str) -> Made:
    """Show a page of the pieces of a task."""
    found, asked = view.store.task_named(task), _asked(task_lists.PIECES)
    page = task_lists.pieces_page(view, found, asked)
    records = [dict(zip(PIECE, _piece(each), strict=True)) for each in page.rows]
    if kind == "csv":
        return as_csv("pieces", PIECE, (record.values() for record in records))  # type: ignore[misc]
    return _listed(pages, view, kind, "pieces", found, page, asked, records)


def _asked(known: filters.Known) -> Filters:
    return filters.read(known, request.args.items(multi=True))


def _listed(
    pages: Pages, view: View, kind: str, what: str, task: Task, page: Page[Any], asked: Filters, records: list[Any]
) -> Made:
    """Show a page of a list of a task."""
    after = f"?{asked.but(after=page.after).query()}" if page.after else ""
    where = f"{g.root}/tasks/{task.name}/{what}"
    if kind == "json":
        following = f"{where}.json{after}" if after else None
        return as_json({what: records, "next": following, "shown_of": page.shown_of})
    facts = {"task": task, "page": page, "asked": asked, "after": after, "rows": records, "what": what, "where": where}
    return pages.html(view, "task_parts.html", **facts)


def _counted(value: Any) -> object:
    return value if isinstance(value, str) else ", ".join(f"{count} {name}" for name, count in value.items())


def _item(each: ItemSeen) -> tuple[object, ...]:
    return each.id, each.name, each.grp, each.state, each.size, _time(each.since), each.note


def _piece(each: PieceSeen) -> tuple[object, ...]:
    local = f"{each.grid}.{each.n}" if each.grid else ""
    known = each.p, each.grp, each.state, each.wave or None, local, each.attempts
    return (*known, _time(each.ended), each.reason)


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, tz=UTC).isoformat(timespec='milliseconds')[:23]}Z" if seconds else ""


def piece(pages: Pages, view: View, kind: str, task: str, p: int) -> Made:
    """Show one piece."""
    require_no_filter()
    of, row = tasks.piece_named(view, f"{task}/{p}")
    record = tasks.piece_record(view, row)
    if g.role is Role.SEE:
        record = {name: value for name, value in record.items() if name != "items"}
    if kind == "json":
        return as_json(record)
    facts = {
        "task": of,
        "piece": row,
        "record": record,
        "waits": list(task_waits.of_piece(view, of, row)),
        "local": _local_job(view, record["local_job"]),
        "items": record.get("items", ())[:ITEMS_SHOWN],
        "part": part_in_words,
        "ended": _time(row.ended),
    }
    return pages.html(view, "task_piece.html", **facts)


def _local_job(view: View, name: str) -> LocalJob | None:
    """Return the local job that a piece is; None: there is none, or its grid job is not split yet."""
    grid, _, n = name.partition(".")
    with suppress(UnknownJob):
        return view.store.local_job(int(grid), int(n)) if name else None
    return None


def piece_explained(_: Pages, view: View, kind: str, task: str, p: int) -> Made:
    """Show what a piece waits for."""
    require_no_filter()
    return as_json([each._asdict() for each in task_waits.of_piece(view, *tasks.piece_named(view, f"{task}/{p}"))])

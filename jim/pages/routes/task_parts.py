"""/tasks/T/groups, /tasks/T/items and /tasks/T/pieces: lists of what a task works on; /tasks/T/p: one piece."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import Any

from flask import Flask, g, request

from jim.clock import as_utc
from jim.errors import UnknownJob
from jim.jobs import LocalJob
from jim.pages.admission import require_look
from jim.pages.app import Pages, require_no_filter
from jim.pages.made import Made, as_csv, as_json
from jim.pages.tokens import Role
from jim.reading import filters
from jim.reading.filters import Filters
from jim.reading.lists import Page
from jim.reading.tasks import lists as task_lists
from jim.reading.tasks import task as tasks
from jim.reading.tasks import waits as task_waits
from jim.reading.tasks.attempts import used_in_words
from jim.reading.tasks.story import story
from jim.reading.tasks.words import part_in_words
from jim.reading.view import View
from jim.statusdb.list_filters import ItemSeen, PieceSeen
from jim.statusdb.task_rows import Output, Task

ITEM = ("id", "name", "group", "state", "size", "since", "note")
PIECE = ("piece", "group", "state", "wave", "local_job", "attempts_before", "ended", "reason")
OUTPUT = (
    *("piece", "output", "k", "group", "state", "name", "place", "bytes", "sha256", "fix", "promised", "changed"),
    "reason",
)
GROUP = ("group", "closed", "items", "pieces")
# What only those who may look are told of a piece; others are told of nothing in its place.
TOLD_TO_LOOKERS: dict[str, Any] = {"items": (), "outputs": (), "fixes": {}, "changes": {}, "attempts": ()}
ITEMS_SHOWN = 500  # of one piece
STEPS_SHOWN = 200  # of a story


def add(app: Flask, pages: Pages) -> None:
    """Add the pages."""
    pages.add(app, "/tasks/<TASK>/groups", groups, "html", "json", "csv", name="task_groups")
    pages.add(app, "/tasks/<TASK>/items", items, "html", "json", "csv", name="task_items")
    pages.add(app, "/tasks/<TASK>/items/<ID>", item, "html", "json", name="task_item")
    pages.add(app, "/tasks/<TASK>/outputs", outputs, "html", "json", "csv", name="task_outputs")
    pages.add(app, "/tasks/<TASK>/pieces", pieces, "html", "json", "csv", name="task_pieces")
    pages.add(app, "/tasks/<TASK>/<P>", piece, "html", "json", name="task_piece")
    pages.add(app, "/tasks/<TASK>/<P>/explain.json", piece_explained, "json", name="task_piece_explained")


def groups(pages: Pages, view: View, kind: str, task: str) -> Made:
    """Show a page of the groups of a task."""
    found, asked = view.store.tasks.named(task), _asked(task_lists.GROUPS)
    page = task_lists.groups_page(view, found, asked)
    records = [each._asdict() for each in page.rows]
    if kind == "csv":
        return as_csv(
            "groups",
            GROUP,
            ([_counted(record[name]) for name in GROUP] for record in records),
            _following(kind, "groups", found, page, asked),
        )
    return _listed(pages, view, kind, "groups", found, page, asked, records)


def items(pages: Pages, view: View, kind: str, task: str) -> Made:
    """Show a page of the items of a task."""
    require_look()
    found, asked = view.store.tasks.named(task), _asked(task_lists.ITEMS)
    page = task_lists.items_page(view, found, asked)
    records = [dict(zip(ITEM, _item(each), strict=True)) for each in page.rows]
    if kind == "csv":
        return as_csv(
            "items", ITEM, (list(record.values()) for record in records), _following(kind, "items", found, page, asked)
        )
    return _listed(pages, view, kind, "items", found, page, asked, records)


def pieces(pages: Pages, view: View, kind: str, task: str) -> Made:
    """Show a page of the pieces of a task."""
    found, asked = view.store.tasks.named(task), _asked(task_lists.PIECES)
    page = task_lists.pieces_page(view, found, asked)
    records = [dict(zip(PIECE, _piece(each), strict=True)) for each in page.rows]
    if kind == "csv":
        return as_csv(
            "pieces",
            PIECE,
            (list(record.values()) for record in records),
            _following(kind, "pieces", found, page, asked),
        )
    return _listed(pages, view, kind, "pieces", found, page, asked, records)


def outputs(pages: Pages, view: View, kind: str, task: str) -> Made:
    """Show a page of what the pieces of a task promise and have brought."""
    require_look()
    found, asked = view.store.tasks.named(task), _asked(task_lists.OUTPUTS)
    page = task_lists.outputs_page(view, found, asked)
    records = [dict(zip(OUTPUT, _output(each), strict=True)) for each in page.rows]
    if kind == "csv":
        return as_csv(
            "outputs",
            OUTPUT,
            (list(record.values()) for record in records),
            _following(kind, "outputs", found, page, asked),
        )
    return _listed(pages, view, kind, "outputs", found, page, asked, records)


def item(pages: Pages, view: View, kind: str, task: str, number: int) -> Made:
    """Show one item of a task, from its arrival on."""
    require_look()
    require_no_filter()
    of = view.store.tasks.named(task)
    found = view.store.pools.items(of.id, [number]).get(number)
    if found is None:
        raise UnknownJob(f"{task} has no item {number}")
    steps = list(islice(story(view, of, found), STEPS_SHOWN + 1))
    shown, more = steps[:STEPS_SHOWN], len(steps) > STEPS_SHOWN
    record = {
        **{name: getattr(found, name) for name in ("id", "name", "size", "note")},
        "group": found.grp,
        "state": found.state.value,
        "since": as_utc(found.since),
        "story": [each.record() for each in shown],
    }
    if kind == "json":
        return as_json(record)
    return pages.html(view, "task_item.html", task=of, record=record, steps=shown, more=more)


def _asked(known: filters.Known) -> Filters:
    return filters.read(known, request.args.items(multi=True))


def _listed(
    pages: Pages, view: View, kind: str, what: str, task: Task, page: Page[Any], asked: Filters, records: list[Any]
) -> Made:
    """Show a page of a list of a task."""
    if kind == "json":
        following = _following(kind, what, task, page, asked) or None
        return as_json({what: records, "next": following, "shown_of": page.shown_of})
    after = f"?{asked.but(after=page.after).query()}" if page.after else ""
    where = f"{g.root}/tasks/{task.name}/{what}"
    facts = {"task": task, "page": page, "asked": asked, "after": after, "rows": records, "what": what, "where": where}
    return pages.html(view, "task_parts.html", **facts)


def _following(kind: str, what: str, task: Task, page: Page[Any], asked: Filters) -> str:
    """Return the address of the next page of a list of a task; empty: there is none."""
    after = asked.but(after=page.after).query() if page.after else ""
    return f"{g.root}/tasks/{task.name}/{what}.{kind}?{after}" if after else ""


def _counted(value: Any) -> object:
    return value if isinstance(value, str) else ", ".join(f"{count} {name}" for name, count in value.items())


def _item(each: ItemSeen) -> tuple[object, ...]:
    return each.id, each.name, each.grp, each.state, each.size, as_utc(each.since), each.note


def _output(each: Output) -> tuple[object, ...]:
    known = (
        each.p,
        each.stream,
        each.k,
        each.grp,
        each.state.value,
        each.name,
        each.place,
        each.bytes,
        each.sha256,
        each.fix or None,
    )
    return (*known, as_utc(each.promised), as_utc(each.changed), each.reason)


def _piece(each: PieceSeen) -> tuple[object, ...]:
    local = f"{each.grid}.{each.n}" if each.grid else ""
    known = each.p, each.grp, each.state, each.wave or None, local, each.attempts
    return (*known, as_utc(each.ended), each.reason)


def piece(pages: Pages, view: View, kind: str, task: str, p: int) -> Made:
    """Show one piece."""
    require_no_filter()
    of, row = tasks.piece_named(view, f"{task}/{p}")
    detail = tasks.piece_in_detail(view, row)
    if g.role is Role.SEE:
        detail = detail._replace(**TOLD_TO_LOOKERS)
    if kind == "json":
        record = detail.to_record()
        return as_json({name: record[name] for name in record if g.role is not Role.SEE or name not in TOLD_TO_LOOKERS})
    facts = {
        "task": of,
        "piece": row,
        "record": detail,
        "waits": list(task_waits.of_piece(view, of, row)),
        "local": _local_job(view, detail.local_job),
        "items": detail.items[:ITEMS_SHOWN],
        "part": part_in_words,
        "used": used_in_words,
        "ended": as_utc(row.ended),
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

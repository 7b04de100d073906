"""Reads lists of tasks, and of the items and pieces of one, page by page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jim.errors import BadRequest
from jim.reading.filters import Filter, Filters
from jim.reading.lists import COUNTED, LIMIT, PAGE, Page
from jim.reading.tasks.records import TaskSeen
from jim.reading.tasks.task import seen
from jim.reading.view import View
from jim.statusdb.list_filters import GroupSeen, ItemsAsked, ItemSeen, OutputsAsked, PiecesAsked, PieceSeen
from jim.statusdb.task_rows import ItemState, Output, OutputState, PieceState, Task, TaskState

SORTS = ("created", "changed", "name")
TASKS = {
    "state": Filter("the state of a task", choices=tuple(each.value for each in TaskState)),
    "failed": Filter("only tasks with failed pieces", choices=("yes",), once=True),
    "open": Filter("whether more items may come", choices=("yes", "no"), once=True),
    "q": Filter("words in name, summary or reason", "WORDS", once=True),
    "sort": Filter(
        "the order: by creation or by the last change, the newest first, or by name", choices=SORTS, once=True
    ),
    "after": Filter("where the page begins: the last row before", pattern=r"[A-Za-z0-9,:.-]{1,80}", once=True),
    "limit": LIMIT,
}
ITEMS = {
    "state": Filter("the state of an item", choices=tuple(each.value for each in ItemState)),
    "group": Filter("the group of an item", "NAME"),
    "name": Filter("a name; * stands for any characters", "PATTERN"),
    "piece": Filter("the number of a piece that the item is in", "P", pattern=r"\d{1,9}", once=True),
    "after": Filter("where the page begins: the name of the last row before", once=True, longest=4096),
    "limit": LIMIT,
}
PIECES = {
    "state": Filter("the state of a piece", choices=tuple(each.value for each in PieceState)),
    "group": Filter("the group of a piece", "NAME"),
    "wave": Filter("the wave that has a piece", "W", pattern=r"[1-9]\d{0,8}"),
    "reason": Filter("a reason as written; * stands for any words", "WORDS"),
    "after": Filter("where the page begins: the number of the last row before", pattern=r"\d{1,9}", once=True),
    "limit": LIMIT,
}
OUTPUTS = {
    "state": Filter("the state of an output", choices=tuple(each.value for each in OutputState)),
    "output": Filter("an output pool", "NAME"),
    "group": Filter("the group of the piece", "NAME"),
    "after": Filter("where the page begins: the last row before", pattern=r"\d{1,9},[^,]{1,100},\d{1,9}", once=True),
    "limit": LIMIT,
}
GROUPS = {
    "after": Filter("where the page begins: the name of the last row before", once=True, longest=4096),
    "limit": LIMIT,
}


def tasks_page(view: View, asked: Filters) -> Page[TaskSeen]:
    """Return a page of tasks."""
    place, backwards = _order(asked.one("sort", "created"))
    fit = _fits(view, asked)
    found = sorted(filter(fit, view.store.tasks.all()), key=place, reverse=backwards)
    if after := asked.one("after"):
        begin = _place(asked, after)
        found, count = (
            [each for each in found if (place(each) < begin if backwards else place(each) > begin)],
            len(found),
        )
    else:
        count = len(found)
    limit = int(asked.one("limit", str(PAGE)))
    last = ",".join(map(str, place(found[limit - 1]))) if len(found) > limit else ""
    return Page(seen(view, found[:limit]), last, count)


def _order(sort: str) -> tuple[Callable[[Task], tuple[Any, ...]], bool]:
    """Return what tells the place of a task in an order, and whether the last one comes first."""
    if sort == "name":
        return lambda task: (task.name,), False
    return (lambda task: (task.updated, task.id)) if sort == "changed" else lambda task: (task.id,), True


def _place(asked: Filters, text: str) -> tuple[Any, ...]:
    sort, parts = asked.one("sort", "created"), text.split(",")
    numeric = sort != "name"
    if len(parts) != (2 if sort == "changed" else 1) or (numeric and not parts[-1].isdecimal()):
        raise BadRequest(f"after cannot be {text!r} in this order")
    return (*parts[:-1], int(parts[-1]) if numeric else parts[-1])


def _fits(view: View, asked: Filters) -> Callable[[Task], bool]:
    """Return a function that tells whether a task fits the filters."""
    states, words = asked.of("state"), asked.one("q").casefold().split()
    counts = view.store.seen_tasks.counts([each.id for each in view.store.tasks.all()]) if asked.of("failed") else {}
    is_open = asked.one("open")

    def fits(task: Task) -> bool:
        text = f"{task.name} {task.spec.summary if words else ''} {task.reason}".casefold()
        good = (not states or task.state in states) and all(word in text for word in words)
        if good and asked.of("failed"):
            good = bool(counts.get(task.id, {}).get("pieces", {}).get(PieceState.FAILED))
        if good and is_open:
            good = (is_open == "no") == all(each.closed for each in view.store.pools.sources(task.id))
        return good

    return fits


def items_page(view: View, task: Task, asked: Filters) -> Page[ItemSeen]:
    """Return a page of the items of a task, by name."""
    wanted = ItemsAsked(
        states=asked.of("state"),
        groups=asked.of("group"),
        names=asked.of("name"),
        piece=int(asked.one("piece")) if asked.of("piece") else None,
        after=asked.one("after"),
    )
    limit, known = int(asked.one("limit", str(PAGE))), _known(view, task, "items", asked)
    found = view.store.seen_tasks.items_page(task.id, wanted, limit + 1) if known != 0 else []
    count = view.store.seen_tasks.count_items(task.id, wanted, COUNTED) if known is None else known
    return Page(found[:limit], found[limit - 1].name if len(found) > limit else "", _if_counted(known, count))


def pieces_page(view: View, task: Task, asked: Filters) -> Page[PieceSeen]:
    """Return a page of the pieces of a task, by number."""
    wanted = PiecesAsked(
        states=asked.of("state"),
        groups=asked.of("group"),
        waves=tuple(map(int, asked.of("wave"))),
        reasons=asked.of("reason"),
        after=int(asked.one("after", "-1")),
    )
    limit, known = int(asked.one("limit", str(PAGE))), _known(view, task, "pieces", asked)
    found = view.store.seen_tasks.pieces_page(task.id, wanted, limit + 1) if known != 0 else []
    count = view.store.seen_tasks.count_pieces(task.id, wanted, COUNTED) if known is None else known
    return Page(found[:limit], str(found[limit - 1].p) if len(found) > limit else "", _if_counted(known, count))


def outputs_page(view: View, task: Task, asked: Filters) -> Page[Output]:
    """Return a page of the outputs of a task, by piece."""
    limit = int(asked.one("limit", str(PAGE)))
    wanted = OutputsAsked(asked.of("state"), asked.of("output"), asked.of("group"))
    if asked.of("after"):
        p, stream, k = asked.one("after").split(",")
        wanted = wanted._replace(after=(int(p), stream, int(k)))
    names = asked.of("output") or tuple(each.name for each in task.spec.outputs)
    count = sum(_tallied(view, task, f"output {each}", asked) for each in names)
    found = view.store.seen_tasks.outputs_page(task.id, wanted, limit + 1) if count else []
    last = found[limit - 1] if len(found) > limit else None
    return Page(found[:limit], f"{last.p},{last.stream},{last.k}" if last else "", count)


def groups_page(view: View, task: Task, asked: Filters) -> Page[GroupSeen]:
    """Return a page of the groups of a task, by name, with what is counted of each."""
    limit = int(asked.one("limit", str(PAGE)))
    found = view.store.seen_tasks.groups_page(task.id, asked.one("after") if asked.of("after") else None, limit + 1)
    last = found[limit - 1].group if len(found) > limit else ""
    return Page(found[:limit], last, view.store.seen_tasks.count_groups(task.id))


def _known(view: View, task: Task, what: str, asked: Filters) -> int | None:
    """Count matching rows by the tally; None if filters are given that it does not know."""
    names = {name for name, _ in asked.given}
    return _tallied(view, task, what, asked) if names <= {"state", "group", "after", "limit"} else None


def _tallied(view: View, task: Task, what: str, asked: Filters) -> int:
    states, groups = asked.of("state"), asked.of("group")
    counts = [view.store.tasks.counts(task.id, what, each) for each in groups or (None,)]
    return sum(count for each in counts for state, count in each.items() if not states or state in states)


def _if_counted(known: int | None, count: int) -> int | None:
    return count if known is not None or count <= COUNTED else None

"""Writes the elements of tasks: what fills one, its waves and items, its pieces, and what these bring."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jim.jobs import public
from jim.statusdb.documents.task_elements import TASK_ELEMENTS
from jim.statusdb.documents.xml_text import attributes, heads, of_value
from jim.statusdb.task_rows import Part

if TYPE_CHECKING:
    from jim.statusdb.store import Store
    from jim.statusdb.task_rows import Task

AT_ONCE = 1000  # pieces


def task_element(store: Store, task: Task, outer: str = "") -> Iterator[str]:
    """Yield the element of a task in parts."""
    yield from (f"<jim:task{outer}{head}>\n" for _, head in _heads_of(store, "task", task.id))
    request = {name: public(value) for name, value in task.spec.request.items()}
    yield of_value("request", "", request) + "\n"
    yield from _sources(store, task)
    for group in store.pools.groups(task.id):
        yield f"<jim:group{attributes({'name': group.grp, 'closed': group.closed})}/>\n"
    for grp, what, state, count in store.tasks.counts_by_group(task.id):
        yield f"<jim:tally{attributes({'group': grp, 'what': what, 'state': state, 'count': count})}/>\n"
    for number, changes in store.tasks.fixes(task.id).items():
        yield of_value("fix", attributes({"number": number}), changes) + "\n"
    for name in ("wave", "item"):
        yield from (f"<jim:{name}{head}/>\n" for _, head in _heads_of(store, name, task.id))
    for first in range(0, task.next_piece, AT_ONCE):
        yield from _pieces(store, task, range(first, min(first + AT_ONCE, task.next_piece)))
    yield "</jim:task>\n"


def _heads_of(store: Store, name: str, task: int, pieces: range | None = None) -> Iterator[tuple[Any, str]]:
    """Yield the last key but those of the task, and the attributes of each element of a name."""
    element = TASK_ELEMENTS[name]
    head, keys = heads(element), len(element.keys)
    for row in store.task_documents.elements_of_task(name, task, pieces):
        yield row[min(1, keys - 1)], head(row[keys:])


def _sources(store: Store, task: Task) -> Iterator[str]:
    """Yield what fills a task: what the task file says, and what is known of it."""
    for each, said in zip(store.pools.sources(task.id), task.spec.sources, strict=True):
        known = {name: getattr(each, name) for name in ("kind", "closed", "looked", "reason", "since")}
        yield (
            of_value("source", attributes(known), {name: value for name, value in said.to_record().items() if value})
            + "\n"
        )


def _pieces(store: Store, task: Task, numbers: range) -> Iterator[str]:
    """Yield some pieces, each with the parts of items that it has, and with what it brings."""
    inside: dict[int, list[str]] = defaultdict(list)
    for p, item, name, *limits in store.task_documents.parts_of_pieces(task.id, numbers):
        facts = {"item": item, "name": name, **dict(zip(Part._fields[1:], limits, strict=True))}
        inside[p].append(f"<jim:part{attributes(facts)}/>")
    for p, head in _heads_of(store, "task_output", task.id, numbers):
        inside[p].append(f"<jim:task_output{head}/>")
    for p, head in _heads_of(store, "task_piece", task.id, numbers):
        yield f"<jim:task_piece{head}>{''.join(inside.get(p, ()))}</jim:task_piece>\n"

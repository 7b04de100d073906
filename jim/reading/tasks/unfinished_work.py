"""Tells what a task has not done, though it may have ended, and what a person can do about it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from jim.model import Kind
from jim.reading.before_submission import Wait
from jim.reading.quantities import how_many
from jim.reading.tasks.facts import failures
from jim.reading.tasks.promises import EXPLAINS, ONLY_CANCEL, STORED, may_be_tried_again
from jim.reading.view import View
from jim.statusdb.task_rows import UNPRINTABLE, ItemState, Source, Task, TaskState
from jim.tasks.effects import coming_to_rest, gone_for_good, is_older

SHOWN = 5  # reasons of failures
NOT_WORKED_ON = {
    ItemState.LATE: "`jim task items {name} --state late` lists what came too late; `jim task reopen {name}` takes it",
    ItemState.LEFT_OUT: (
        "`jim task items {name} --state 'left out'` tells why; `jim task reopen {name}` takes files that have content "
        "and are at rest by then"
    ),
}
GONE = (
    "`jim task items {name} --state gone` lists them; nothing brings these files again: a new task can make them, "
    "with a `store` if they are to stay"
)
MAY_RETRY = (TaskState.RUNNING, TaskState.PAUSED, TaskState.FINISHED)
NEW_CONTENT = (
    "once at rest, it is worked on, or is late if its group is closed; "
    "`jim task drop {name} FILE --reason WHY` gives it up"
)


def undone(view: View, task: Task) -> Iterator[Wait]:
    """Return what was left out, came too late, was never taken, or has failed for good."""
    if not is_older(task):  # what comes late does not matter to a task that can only be cancelled
        yield from _not_worked_on(view, task)
        yield from _not_taken(view, task)
        yield from _to_rest(view, task)
        yield from _gone(view, task)
    yield from _failures(view, task)


def _not_worked_on(view: View, task: Task) -> Iterator[Wait]:
    """Return what nobody has worked on, though it is there; `jim task reopen` may change that."""
    if task.state is not TaskState.FINISHED:
        return
    counts = view.store.tasks.counts(task.id, "items")
    for state, next_ in NOT_WORKED_ON.items():
        if count := counts.get(state, 0):
            what = f"{how_many(count, 'item')} {'is' if count == 1 else 'are'} {state.value}"
            yield Wait(what, next_.format(name=task.name), STORED)


def unprintable(source: Source) -> tuple[int, str]:
    """Return how many files of a source were not taken for their names, and one of these names as it may be shown."""
    waits = json.loads(source.waits or "{}")
    return waits.get("unprintable", 0), "".join(waits.get("odd", ()))


def _not_taken(view: View, task: Task) -> Iterator[Wait]:
    """Return the files that no item stands for; those of open sources are told with what these wait for."""
    for source in view.store.pools.sources(task.id) if task.state in MAY_RETRY else ():
        count, name = unprintable(source)
        if count and source.closed:
            more = f", and {how_many(count - 1, 'other file')} like it" if count > 1 else ""
            next_ = f"rename {'it' if count == 1 else 'them'}, then say `jim task reopen {task.name}`"
            yield Wait(f"file {name} was not taken: {UNPRINTABLE}{more}", next_, "the last look", source.looked)


def _to_rest(view: View, task: Task) -> Iterator[Wait]:
    """Return the items whose files have changed, so that they wait for these files to come to rest."""
    items = coming_to_rest(view.store, task) if task.state is TaskState.RUNNING else []
    if items:
        waits = "waits for its file" if len(items) == 1 else "wait for their files"
        what = f"{how_many(len(items), 'item')} {waits} to come to rest again: {items[0].name} has changed"
        yield Wait(what, NEW_CONTENT.format(name=task.name), STORED)


def _gone(view: View, task: Task) -> Iterator[Wait]:
    """Return the items that went with their grid jobs: nothing brings their files again."""
    if count := len(gone_for_good(view.store, task)) if task.state in MAY_RETRY else 0:
        what = "is gone: its grid job is no longer kept, nor is its file"
        if count > 1:
            what = "are gone: their grid jobs are no longer kept, nor are their files"
        yield Wait(f"{how_many(count, 'item')} {what}", GONE.format(name=task.name), STORED)


def _failures(view: View, task: Task) -> Iterator[Wait]:
    """Return what has failed for good, and what a person can do about it."""
    if task.state not in MAY_RETRY:
        return
    found, others = failures(view, task)
    again = (
        f"`jim task retry {task.name}` tries them again as they are; `jim task recover {task.name}` makes new pieces"
    )
    if found and not may_be_tried_again(view, task):
        again = "nothing tries them again: all their items were dropped or are gone"
    if is_older(task):
        again = ONLY_CANCEL.format(name=task.name)
    for each in found[:SHOWN]:
        verb = "has" if each.times == 1 else "have"
        why = f": {each.reason}" if each.reason else ""
        what = f"{how_many(each.times, 'piece')} {verb} failed{why} (as {task.name}/{each.example})"
        example = view.store.pieces.one(task.id, each.example)
        other = EXPLAINS.format(task=task.name, p=each.example) if example and example.kind is Kind.BROKEN else ""
        yield Wait(what, other or again, STORED)
    if more := others + sum(each.times for each in found[SHOWN:]):
        yield Wait(f"{how_many(more, 'more piece')} {'has' if more == 1 else 'have'} failed", again, STORED)

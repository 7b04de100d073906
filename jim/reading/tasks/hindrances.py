"""Tells why a task cannot go on as it should, briefly: for lists, which have room for one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from jim.reading.quantities import how_many
from jim.reading.tasks.facts import not_kept, to_come, what_of
from jim.reading.tasks.promises import MAY_FULFIL, may_be_tried_again
from jim.reading.view import View
from jim.statusdb.task_rows import ItemState, OutputState, PieceState, Source, Task, TaskState
from jim.statusdb.task_spec import SourceSpec, Split
from jim.statusdb.tasks.outputs import pool_of
from jim.tasks.effects import OVER

LOOKING = (TaskState.TESTING, TaskState.RUNNING)
IDLE = (TaskState.CONFIGURED, TaskState.READY, TaskState.PAUSED)  # a task in such a state brings nothing
PLACES = ("output", "disk", "source")  # kinds whose words name directories and files of the site


class Hindrance(NamedTuple):
    """What a task waits for, though it should not."""

    kind: str  # output, disk, source, promises, upstream or items
    words: str


def hindrances(
    view: View, task: Task, items: Mapping[str, int], pieces: Mapping[str, int], disks: Sequence[str]
) -> Iterator[Hindrance]:
    """Yield what hinders a task, the gravest first; `disks` are those with too little room for all tasks."""
    yield from (Hindrance("output", each) for each in not_kept(view, task, 1))
    if task.state not in LOOKING:
        return
    yield from (Hindrance("disk", words) for words in disks)
    whole = task.spec
    sources = list(zip(view.store.pools.sources(task.id), whole.sources, strict=True))
    for source, spec in sources:
        if source.reason and not source.closed:
            yield Hindrance("source", f"{what_of(spec)} cannot be looked at: {source.reason}")
    if task.state is not TaskState.RUNNING:
        return
    if pieces.get(PieceState.WAITING) or items.get(ItemState.PROMISED):
        yield from (Hindrance("promises", told) for source, spec in sources if (told := broken(view, source, spec)))
    if not pieces.get(PieceState.READY) and not pieces.get(PieceState.SENT):
        yield from (
            Hindrance("upstream", told) for source, _ in sources if (told := upstream_idle(view, source, disks))
        )
    waiting, split = items.get(ItemState.AVAILABLE, 0), whole.split
    if waiting and not whole.makes_events and not pieces.get(PieceState.READY):
        yield Hindrance("items", waiting_items(waiting, split))


def without_room(view: View) -> tuple[str, ...]:
    """Return which disks have too little room for all tasks; asked once for a list of very many."""
    return tuple(words for stops, words in view.shortages() if stops)


def broken(view: View, source: Source, spec: SourceSpec) -> str:
    """Return which promises of another task are broken, and what fulfils them; empty: none that is waited for."""
    upstream = view.store.tasks.one(source.upstream) if source.upstream else None
    if upstream is None or upstream.state in OVER or not spec.promises or spec.when_broken != "wait":
        return ""
    count = view.store.tasks.counts(upstream.id, pool_of(source.stream)).get(OutputState.BROKEN, 0)
    if not count:
        return ""
    verb, them = ("is", "it") if count == 1 else ("are", "them")
    again = f"; {MAY_FULFIL.format(task=upstream.name)} {them}"
    if not may_be_tried_again(view, upstream):
        again = f", and no retry of {upstream.name} fulfils {them}"
    return f"{how_many(count, 'promise')} of {what_of(spec)} {verb} broken{again}"


def upstream_idle(view: View, source: Source, disks: Sequence[str] | None = None) -> str:
    """Return that the task which fills a source brings nothing as it is; empty: it goes on."""
    upstream = view.store.tasks.one(source.upstream) if source.upstream else None
    if upstream is None or (source.closed and not any(to_come(view, source))):
        return ""
    fed = f"it is fed by {upstream.name}, which"
    if upstream.state in IDLE:
        return f"{fed} is {upstream.state.value}{upstream.reason and f': {upstream.reason}'}"
    items, pieces = (view.store.tasks.counts(upstream.id, what) for what in ("items", "pieces"))
    full = without_room(view) if disks is None else disks
    first = next((each.words for each in hindrances(view, upstream, items, pieces, full) if each.kind != "items"), "")
    return f"{fed} waits, too: {first}" if first else ""


def waiting_items(count: int, split: Split) -> str:
    """Return what available items wait for."""
    its = "its" if count == 1 else "their"
    rule = f"{its} group to be closed" if split.when == "closed" else f"a full piece of {split.splitter}"
    return f"{how_many(count, 'item')} {'waits' if count == 1 else 'wait'} for {rule}"

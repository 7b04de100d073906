"""Tells the story of an item: where it came from, the pieces and attempts that worked on it, and what it became.

The story goes on through all tasks that are fed with what the pieces brought. Each step is told by the rows of the
store as they are now: a step that is still to come is not told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from jim.clock import as_utc
from jim.reading.quantities import how_many, size_of
from jim.reading.tasks.attempts import AttemptSeen, attempts
from jim.reading.tasks.facts import what_of
from jim.reading.view import View
from jim.statusdb.task_rows import Item, ItemState, Output, OutputState, PieceRow, PieceState, Task, TaskState
from jim.statusdb.tasks.chains import is_there, item_name
from jim.tasks.effects import OVER, fix_of

ENDED = (PieceState.COMPLETED, PieceState.FAILED)
UNSENT = (PieceState.WAITING, PieceState.READY)
OPEN = (
    ItemState.AVAILABLE,
    ItemState.PROMISED,
    ItemState.ACQUIRED,
)  # what a task still works on, unless it is cancelled
TOLD_AT_ITEMS = (ItemState.LATE, ItemState.GONE, ItemState.LEFT_OUT, ItemState.DROPPED)
OF_OUTPUTS = {  # what became of an output that is not there, in words
    OutputState.BROKEN: "its promise is broken",
    OutputState.REPLACED: "other pieces promise it",
    OutputState.WITHDRAWN: "nothing of it comes",
}


class Step(NamedTuple):
    """An item, a piece that works on it, or what such a piece brings."""

    what: str  # item, piece or output
    task: str
    name: str  # unique in the story
    state: str
    facts: Mapping[str, Any]
    told: tuple[str, ...]  # what has happened, in words, with times as they are stored

    def words(self) -> str:
        """Return what has happened, as one sentence."""
        return "; ".join(self.told)

    def record(self) -> dict[str, Any]:
        """Return the step for programs."""
        known = {"what": self.what, "task": self.task, "name": self.name, "state": self.state}
        return {**known, **self.facts, "told": list(self.told)}


def story(view: View, task: Task, item: Item) -> Iterator[Step]:
    """Yield the steps of an item, and of all that was made of it; each piece once."""
    tasks = {each.id: each for each in view.store.tasks.all()}
    yield _item(view, tasks, task, item)
    items, seen = deque([item]), set[tuple[int, int]]()
    while items:
        next_item = items.popleft()
        for p in view.store.pieces.with_item(next_item.id):
            piece = view.store.pieces.one(next_item.task, p)
            if piece is None or (piece.task, p) in seen:
                continue
            seen.add((piece.task, p))
            own = tasks[piece.task]
            yield _piece(view, own, piece)
            for output in view.store.outputs.of_piece(piece.task, p):
                became = view.store.chains.items_of([output.id])
                yield _output(own, piece, output, [(tasks[each.task].name, each) for each in became])
                items.extend(became)


def _item(view: View, tasks: Mapping[int, Task], task: Task, item: Item) -> Step:
    """Tell where an item came from."""
    facts: dict[str, Any] = {"id": item.id, "group": item.grp, "size": item.size, "came": as_utc(item.since)}
    output = view.store.outputs.one(item.output) if item.output else None
    if output and output.task in tasks:
        by = f"{tasks[output.task].name}/{output.p}"
        facts |= {"promised_by": by, "promised": as_utc(output.promised), "place": output.place}
        told = [f"promised {as_utc(output.promised)} by piece {by}", *_course(output)]
    else:
        facts |= {"source": _source(view, task, item)}
        size = f", {size_of(item.size)}" if item.size else ""
        told = [f"came {as_utc(item.since)}{_from(task, item, facts['source'])}{size}"]
        told += [f"group {item.grp}"] if item.grp else []
    told += _aside(item)
    told += [f"{_cancelled(task)}: nothing more is sent"] if task.state in OVER and item.state in OPEN else []
    return Step("item", task.name, item.name, item.state.value, {**facts, "note": item.note}, tuple(told))


def _aside(item: Item) -> Iterator[str]:
    """Tell why nothing works on an item, or what became of it since."""
    if item.state in TOLD_AT_ITEMS and not item.note.startswith(item.state.value):
        yield f"{item.state.value}{_why(item.note)}"
    elif item.note:
        yield item.note


def _from(task: Task, item: Item, source: str) -> str:
    if item.output:
        return " from a task that was removed since"
    return f" from {source}" if source else ""


def _source(view: View, task: Task, item: Item) -> str:
    """Return the source that an item came from, in words; empty: it may be one of several, or a person."""
    if item.output:
        return ""
    sources = [each for each in task.spec.sources if each.kind != "task"]
    within = [each for each in sources if each.kind == "directory" and _is_within(each.directory, item.name)]
    if not within and view.store.seen_tasks.lines(task.id, ("add",), 1):
        return ""
    found = within or sources
    return what_of(found[0]) if len(found) == 1 else ""


def _is_within(directory: str, name: str) -> bool:
    return name.startswith(f"{directory.rstrip('/')}/")


def _course(output: Output) -> Iterator[str]:
    """Tell what became of a promise."""
    if is_there(output):
        yield f"fulfilled {as_utc(output.changed)}: {output.place}"
    elif output.state is OutputState.VERIFIED:
        yield f"its file came {as_utc(output.changed)}, and is to be stored{_why(output.reason)}"
    elif output.state in OF_OUTPUTS:
        yield f"{OF_OUTPUTS[output.state]} since {as_utc(output.changed)}"


def _why(reason: str) -> str:
    return f": {reason}" if reason else ""


def _cancelled(task: Task) -> str:
    return f"{task.name} {'was' if task.state is TaskState.CANCELLED else 'is being'} cancelled"


def _is_never_sent(task: Task, piece: PieceRow) -> bool:
    return task.state in OVER and piece.state in UNSENT


def _piece(view: View, task: Task, piece: PieceRow) -> Step:
    """Tell what became of a piece: where it was released, and each attempt."""
    made = attempts(view, piece)
    wave = view.store.waves.one(piece.task, piece.wave) if piece.wave else None
    local_job = f"{wave.grid}.{piece.n}" if wave and wave.grid else ""
    facts = {
        "piece": piece.p,
        "group": piece.grp,
        "planned": as_utc(piece.planned),
        "wave": piece.wave or None,
        "local_job": local_job,
        "released": wave.created if wave else "",
        "fix": fix_of(view.store, wave, piece.n) if wave else 0,
        "attempts": [each._asdict() for each in made],
        "attempts_before": piece.attempts,
        "ended": as_utc(piece.ended) if piece.state in ENDED else "",
        "reason": piece.reason,
    }
    told = [f"planned {facts['planned']}"] if piece.planned else []
    told += _before(task.name, piece, [each for each in made if each.wave != piece.wave])
    if wave:
        told.append(f"released {wave.created} in {task.name}:{wave.w}{f' = {local_job}' if local_job else ''}")
    made = [each for each in made if each.wave == piece.wave]
    told += [f"never sent: {_cancelled(task)}"] if _is_never_sent(task, piece) else _end(piece, made)
    return Step("piece", task.name, f"{task.name}/{piece.p}", piece.state.value, facts, tuple(told))


def _before(task: str, piece: PieceRow, made: list[AttemptSeen]) -> Iterator[str]:
    """Tell of the waves that a pause has ended."""
    for w, local_job in dict.fromkeys((each.wave, each.local_job) for each in made):
        those = how_many(sum(each.wave == w for each in made), "attempt")
        yield f"in {task}:{w} = {local_job} a pause ended it after {those}"
    if piece.attempts and not made:
        yield f"{how_many(piece.attempts, 'attempt')} in waves before, which a pause ended"


def _end(piece: PieceRow, made: list[AttemptSeen]) -> Iterator[str]:
    """Tell of the attempts in the wave of a piece, and how it ended or what it waits for."""
    last = made[-1] if made else None
    for each in made[:-1] if piece.state in (*ENDED, PieceState.SENT) else made:
        yield f"attempt {each.attempt}{_on(each)} {each.verdict or 'sent'} {each.ended}".rstrip() + _why(each.reason)
    if piece.state in ENDED:
        attempt = f"{_on(last)}, attempt {last.attempt}" if last else ""
        yield f"{piece.state.value} {as_utc(piece.ended)}{attempt}{_why(piece.reason)}"
    elif piece.state is PieceState.SENT:
        yield _now(last)
    elif piece.state is PieceState.WAITING:
        yield f"waits for {how_many(piece.missing, 'item')} that {'is' if piece.missing == 1 else 'are'} not there yet"
    elif piece.state is PieceState.READY:
        yield "ready to be released"
    else:
        since = as_utc(piece.ended)
        yield f"replaced by new pieces {since}" if piece.state is PieceState.REPLACED else f"taken back {since}"


def _now(last: AttemptSeen | None) -> str:
    """Tell how far a piece is that is on the way."""
    if last is None:
        return "on the way"
    if last.verdict:
        return f"attempt {last.attempt}{_on(last)} {last.verdict} {last.ended}{_why(last.reason)}"
    started = f"started {last.started}{_on(last)}" if last.started else "in the batch system"
    return f"attempt {last.attempt} {started}"


def _on(each: AttemptSeen) -> str:
    return f" on {each.host}" if each.host else ""


def _output(task: Task, piece: PieceRow, output: Output, became: list[tuple[str, Item]]) -> Step:
    """Tell what became of an output, and of which tasks it is an item."""
    kept = ("place", "sha256", "bytes", "fix", "reason")
    facts: dict[str, Any] = {name: getattr(output, name) for name in kept}
    facts |= {"piece": output.p, "output": output.stream}
    facts |= {"promised": as_utc(output.promised), "changed": as_utc(output.changed)}
    facts |= {"items": [{"task": name, "id": each.id, "state": each.state.value} for name, each in became]}
    there = "stored" if output.state is OutputState.STORED else "there since"
    if is_there(output):
        told = [f"{there} {as_utc(output.changed)}: {output.place}"]
    elif output.state is OutputState.PROMISED:
        told = [f"promised {as_utc(output.promised)}"]
        told += [f"nothing of it comes: {_cancelled(task)}"] if _is_never_sent(task, piece) else []
    else:
        told = list(_course(output))
    told += [f"made with fix {output.fix}"] if output.fix else []
    told += [f"an item of {name}, {each.state.value}" for name, each in became]
    return Step("output", task.name, item_name(output), output.state.value, facts, tuple(told))

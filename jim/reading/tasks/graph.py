"""The tasks that feed one another: a box for each, an arrow for each connector; as text, and as a drawing (SVG)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from jim.reading.tasks.task import facts, pieces_of
from jim.reading.view import View
from jim.statusdb.task_rows import OutputState, PieceState, Task, TaskState
from jim.statusdb.tasks.outputs import pool_of

STATES = OutputState.PROMISED, OutputState.VERIFIED, OutputState.STORED, OutputState.BROKEN
WIDE, HIGH, ACROSS, DOWN, EDGE = 200, 64, 260, 40, 12  # of boxes, and between them
MARGIN = 10  # of the words in a box
NARROW, NARROW_WIDE, BROAD, BROAD_WIDE, USUAL_WIDE = "fijlrt-", 6, "mw", 14, 9  # bold letters of names, in the drawing
LETTER = 7  # the width of one in what stands between boxes
SHORT = 3  # columns that a page can show without scrolling
Link = Callable[[str], str]


class Box(NamedTuple):
    """One task."""

    name: str
    state: str
    completed: int
    planned: int | None  # pieces; none: more may come
    failed: int

    def pieces(self) -> str:
        """Return how many pieces are completed, of how many."""
        return f"{self.completed:,}/{'?' if self.planned is None else format(self.planned, ',')}"


class Arrow(NamedTuple):
    """A connector: an output of a task that feeds another one."""

    start: str
    end: str
    stream: str
    there: int
    promised: int
    broken: int

    def words(self) -> str:
        """Return how much has come, and how much is still to come."""
        told = [f"{self.stream} {self.there:,} there"]
        told += [f"{self.promised:,} promised"] * bool(self.promised) + [f"{self.broken:,} broken"] * bool(self.broken)
        return ", ".join(told)


class Graph(NamedTuple):
    """Tasks, and how they feed one another."""

    boxes: list[Box]
    arrows: list[Arrow]


def graph(view: View, names: Iterable[str] = ()) -> Graph:
    """Return the graph of these tasks with all that feed them or are fed by them; without names, that of all tasks."""
    tasks = {each.name: each for each in view.store.tasks.all()}
    feeds = [(each.task, task.name, each.output) for task in tasks.values() for each in task.spec.connectors]
    wanted = {view.store.tasks.named(name).name for name in names} or set(tasks)
    while more := {other for start, end, _ in feeds for other in (start, end) if {start, end} & wanted} - wanted:
        wanted |= more
    boxes = [_box(view, task) for name, task in tasks.items() if name in wanted]
    known = [each for each in feeds if each[0] in tasks and each[1] in wanted]
    return Graph(boxes, [_arrow(view, tasks[start], end, stream) for start, end, stream in known])


def _box(view: View, task: Task) -> Box:
    found = facts(view, task)
    planned = pieces_of(view, task, found)
    completed, failed = (found.pieces.get(each, 0) for each in (PieceState.COMPLETED, PieceState.FAILED))
    return Box(task.name, task.state.value, completed, planned, failed)


def _arrow(view: View, start: Task, end: str, stream: str) -> Arrow:
    counts = view.store.tasks.counts(start.id, pool_of(stream))
    stored = start.spec.stores(stream)
    promised, verified, there, broken = (counts.get(each, 0) for each in STATES)
    if start.state is TaskState.CANCELLED:  # nobody fulfils these any more
        promised, broken = 0, broken + promised
    there, promised = (there, promised + verified) if stored else (there + verified, promised)
    return Arrow(start.name, end, stream, there, promised, broken)


def as_text(found: Graph) -> list[str]:
    """Return a line for each connector, and for each task without one."""
    boxes = {each.name: f"{each.name}  {each.pieces()}" for each in found.boxes}
    connected = {name for each in found.arrows for name in (each.start, each.end)}
    lines = [f"{boxes[each.start]} ─ {each.words()} ─> {boxes[each.end]}" for each in found.arrows]
    return lines + [boxes[each.name] for each in found.boxes if each.name not in connected]


# The drawing


def places(found: Graph) -> dict[str, tuple[int, int]]:
    """Return the column and row of each box: behind all tasks that feed it."""
    column = {each.name: 0 for each in found.boxes}
    for _ in found.boxes:  # no chain is longer than there are boxes
        for each in found.arrows:
            column[each.end] = max(column[each.end], column[each.start] + 1)
    rows: dict[int, int] = {}
    told: dict[str, tuple[int, int]] = {}
    for name, number in sorted(column.items(), key=lambda each: each[1]):
        told[name] = number, rows.get(number, 0)
        rows[number] = told[name][1] + 1
    return told


def as_svg(found: Graph, link: Link | None = None) -> str:
    """Draw a graph. Every text is escaped; with `link`, each box leads to the address of its task."""
    across = max([ACROSS, *(LETTER * len(each.words()) + 3 * EDGE for each in found.arrows)])
    columns = places(found)
    where = {name: _corner(*place, across) for name, place in columns.items()}
    wide = max((x for x, _ in where.values()), default=0) + WIDE + EDGE
    high = max((y for _, y in where.values()), default=0) + HIGH + EDGE
    parts = [_arrow_drawn(each, where[each.start], where[each.end], across) for each in found.arrows]
    parts += [_box_drawn(each, *where[each.name], link) for each in found.boxes]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        f'class="{"long" if any(column >= SHORT for column, _ in columns.values()) else "short"}" '
        f'role="{"group" if link else "img"}" font-family="sans-serif" font-size="13">'
        "<title>Tasks and how they feed one another</title>"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="currentColor"/></marker></defs>'
    )
    return "\n".join([head, *parts, "</svg>"])


def _corner(column: int, row: int, across: int) -> tuple[int, int]:
    return EDGE + column * (WIDE + across), EDGE + row * (HIGH + DOWN)


def _box_drawn(box: Box, x: int, y: int, link: Link | None) -> str:
    failed = f", {box.failed:,} failed" if box.failed else ""
    name = escape(fitting(box.name, WIDE))
    told = (
        f"<g class={quoteattr(f'task {box.state}')}><title>{escape(box.name)}</title>"
        f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="6" fill="none" stroke="currentColor"/>'
        f'<text x="{x + MARGIN}" y="{y + 20}" font-weight="bold" fill="currentColor">{name}</text>'
        f'<text x="{x + MARGIN}" y="{y + 38}" fill="currentColor">{escape(box.state)}</text>'
        f'<text x="{x + MARGIN}" y="{y + 55}" fill="currentColor">{escape(box.pieces() + failed)}</text></g>'
    )
    return f"<a href={quoteattr(link(box.name))}>{told}</a>" if link else told


def fitting(name: str, wide: int) -> str:
    """Return as much of a name as fits into a box."""
    room = wide - 2 * MARGIN
    if sum(map(_wide, name)) <= room:
        return name
    while sum(map(_wide, name)) + BROAD_WIDE > room:
        name = name[:-1]
    return f"{name}…"


def _wide(letter: str) -> int:
    return NARROW_WIDE if letter in NARROW else BROAD_WIDE if letter in BROAD else USUAL_WIDE


def _arrow_drawn(arrow: Arrow, start: tuple[int, int], end: tuple[int, int], across: int) -> str:
    (x, y), (to_x, to_y) = (start[0] + WIDE, start[1] + HIGH // 2), (end[0], end[1] + HIGH // 2)
    middle = x + across // 2
    words = f'<text x="{to_x - across // 2}" y="{to_y - 6}" text-anchor="middle" fill="currentColor">'
    return (
        f'<path d="M{x} {y}C{middle} {y} {to_x - across // 2} {to_y} {to_x} {to_y}" fill="none" stroke="currentColor" '
        f'marker-end="url(#tip)"/>{words}{escape(arrow.words())}</text>'
    )

"""The graph of tasks drawn for a narrow screen (SVG): a box below the other, each below all that feed it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from jim.reading.tasks.graph import HIGH, LETTER, MARGIN, Arrow, Box, Graph, Link, fitting, places

WIDE, LINE = 250, 17  # of a box, and of a line of words between boxes
LANE, MOST_LANES = 8, 5  # the way of an arrow past other boxes, at the left of all
STEM = 18  # where an arrow to the next box leaves


def as_svg_down(found: Graph, link: Link) -> str:
    """Draw a graph from top to bottom. Every text is escaped; each box leads to the address of its task."""
    column = places(found)
    boxes = sorted(found.boxes, key=lambda each: column[each.name])
    fed = {(each.start, each.end) for each in found.arrows}
    next_to = {(first.name, second.name) for first, second in pairwise(boxes)} & fed
    past = [each for each in found.arrows if (each.start, each.end) not in next_to]
    left = LANE * (1 + min(MOST_LANES, len(past)))
    words = {box.name: _words(found, box, next_to) for box in boxes}
    tops, high = _tops(boxes, words)
    parts = [_past(each, tops, left, at) for at, each in enumerate(past)]
    for box in boxes:
        above, top = [start for start, end in next_to if end == box.name], tops[box.name]
        parts += [*_stem(above, words[box.name], tops, top, left), _box(box, left, top, link)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + WIDE + 2} {high}" role="group" '
        'font-family="sans-serif" font-size="13"><title>Tasks and how they feed one another</title>'
        '<defs><marker id="tip-down" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0 0L8 4L0 8z" fill="currentColor"/></marker></defs>'
    )
    return "\n".join([head, *parts, "</svg>"])


def _words(found: Graph, box: Box, next_to: set[tuple[str, str]]) -> list[str]:
    """Return the lines above a box: what each arrow to it tells, and where one comes from that leads past others."""
    lines: list[str] = []
    for each in found.arrows:
        if each.end == box.name:
            lines += [each.words()] if (each.start, each.end) in next_to else [f"{each.start}:", each.words()]
    most = (WIDE - STEM - MARGIN) // LETTER
    return [line if len(line) <= most else f"{line[: most - 1]}…" for line in lines]


def _tops(boxes: list[Box], words: dict[str, list[str]]) -> tuple[dict[str, int], int]:
    """Return where each box begins, with room for the words above it, and where all end."""
    tops, y = dict[str, int](), 2
    for box in boxes:
        lines = len(words[box.name])
        y += LINE * lines + LINE // 2 * bool(lines)
        tops[box.name] = y
        y += HIGH + LINE
    return tops, y


def _stem(above: list[str], words: list[str], tops: dict[str, int], top: int, left: int) -> Iterator[str]:
    """Draw the arrow from the box above, if that feeds this one, and the words of all arrows to this one."""
    for start in above:
        way = f"M{left + STEM} {tops[start] + HIGH}V{top}"
        yield f'<path d="{way}" fill="none" stroke="currentColor" marker-end="url(#tip-down)"/>'
    first = top - LINE * len(words) - LINE // 2 + LINE - 4
    for at, line in enumerate(words):
        place = f'x="{left + STEM + MARGIN}" y="{first + LINE * at}"'
        yield f'<text {place} fill="currentColor">{escape(line)}</text>'


def _past(arrow: Arrow, tops: dict[str, int], left: int, at: int) -> str:
    """Draw an arrow past other boxes."""
    lane = left - LANE * (1 + at % MOST_LANES)
    start, end = tops[arrow.start] + HIGH // 2, tops[arrow.end] + HIGH // 2
    return (
        f'<path d="M{left} {start}H{lane}V{end}H{left}" fill="none" stroke="currentColor" marker-end="url(#tip-down)"/>'
    )


def _box(box: Box, x: int, y: int, link: Link) -> str:
    failed = f", {box.failed:,} failed" if box.failed else ""
    weights = ("bold", "normal", "normal")
    lines = (
        f'<text x="{x + MARGIN}" y="{y + 20 + 17 * at}" font-weight="{weights[at]}" fill="currentColor">'
        f"{escape(words)}</text>"
        for at, words in enumerate((fitting(box.name, WIDE), box.state, box.pieces() + failed))
    )
    return (
        f"<a href={quoteattr(link(box.name))}><g class={quoteattr(f'task {box.state}')}>"
        f'<title>{escape(box.name)}</title><rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="6" fill="none" '
        f'stroke="currentColor"/>{"".join(lines)}</g></a>'
    )

"""Writes what `make bench-scale` has measured: a table in Markdown, and the curves as an SVG for docs/scale.md.

python -m bench.scale_page RESULTS.json PICTURE.svg     draws results again
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.taking import Figure

Points = Sequence[tuple[float, float]]
WIDE, HIGH, LEFT, TOP, PANEL, GAP = 760, 300, 48, 46, 296, 88
STYLE = """
text { font: 12px 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif; fill: #1b1f24 }
.head { font-weight: bold } .axis, .grid { stroke: #57606a; fill: none } .grid { stroke-opacity: .25 }
.first { stroke: #0550ae; fill: #0550ae } .second { stroke: #bc4c00; fill: #bc4c00 }
polyline { fill: none !important; stroke-width: 2 } text.first, text.second { stroke: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .axis, .grid { stroke: #8d96a0 }
.first { stroke: #79c0ff; fill: #79c0ff } .second { stroke: #ffa657; fill: #ffa657 } }
"""
OPEN = ("idle, CPU per second", "one change, CPU")
COMING = ("a grid job handed in, CPU", "a local job through Slurm, CPU")


def table(figures: Iterable[Figure]) -> str:
    """Return the figures as a table in Markdown."""
    lines = ["| what | measured | bound | |", "|---|---|---|---|"]
    for each in figures:
        bound = "" if each.bound is None else f"≤ {each.bound:g} {each.unit}"
        lines.append(f"| {each.name.strip()} | {_number(each.measured)} {each.unit} | {bound} | {each.note} |")
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.3g}"


def curves(figures: Iterable[Figure]) -> dict[str, Points]:
    """Return the points of each curve, in order."""
    found: dict[str, list[tuple[float, float]]] = {}
    for each in figures:
        if each.curve:
            found.setdefault(each.curve, []).extend(each.points)
    return {name: sorted(points) for name, points in found.items()}


def picture(found: Mapping[str, Points]) -> str:
    """Draw the curves: what open grid jobs cost, and what each of very many costs."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-labelledby="title">',
        '<title id="title">What a keeper costs, by the number of open grid jobs, and by what it has done</title>',
        f"<style>{STYLE}</style>",
        *_panel(LEFT, "open grid jobs", {name: found.get(name, ()) for name in OPEN}),
        *_panel(LEFT + PANEL + GAP, "% of all are done", {name: found.get(name, ()) for name in COMING}),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _panel(left: int, under: str, lines: Mapping[str, Points]) -> Iterator[str]:
    """Draw axes and curves. The horizontal axis is logarithmic if it counts grid jobs."""
    bottom, every = HIGH - 44, [point for points in lines.values() for point in points]
    most = _round_up(max((y for _, y in every), default=1.0))
    scale = math.log10 if under.startswith("open") else float
    first, last = (scale(end(x for x, _ in every)) if every else 1.0 for end in (min, max))

    def across(x: float) -> float:
        return left + PANEL * (scale(x) - first) / (last - first or 1.0)

    def up(y: float) -> float:
        return bottom - (bottom - TOP) * y / most

    for part in range(5):
        value = most * part / 4
        yield f'<path class="grid" d="M{left} {up(value):.1f}h{PANEL}"/>'
        yield f'<text x="{left - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{value:g}</text>'
    yield f'<path class="axis" d="M{left} {TOP}V{bottom}h{PANEL}"/><text x="{left - 34}" y="{TOP - 14}">ms</text>'
    for x in sorted({x for x, _ in every}):
        yield f'<text x="{across(x):.1f}" y="{bottom + 17}" text-anchor="middle">{x:,.0f}</text>'
    yield f'<text class="head" x="{left + PANEL / 2}" y="{HIGH - 8}" text-anchor="middle">{under}</text>'
    for number, (name, points) in enumerate(lines.items()):
        look = ("first", "second")[number]
        yield f'<text class="{look}" x="{left + 8}" y="{TOP - 26 + 15 * number}">● {name}</text>'
        yield f'<polyline class="{look}" points="{" ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)}"/>'
        yield from (f'<circle class="{look}" cx="{across(x):.1f}" cy="{up(y):.1f}" r="2.5"/>' for x, y in points)


def _round_up(value: float) -> float:
    """Return the next number of 1, 2, 4 or 8 with zeros."""
    unit = 10.0 ** math.floor(math.log10(value or 1.0))
    return next(unit * step for step in (1, 2, 4, 8, 10) if value <= unit * step)


def write(figures: Sequence[Figure], results: Path, drawn: Path) -> None:
    """Write the results and their picture."""
    results.write_text(json.dumps([asdict(each) for each in figures], indent=1) + "\n")
    drawn.write_text(picture(curves(figures)))


def read(results: Path) -> list[Figure]:
    """Read results."""
    return [Figure(**each) for each in json.loads(results.read_text())]


if __name__ == "__main__":
    print(table(read(Path(sys.argv[1]))), end="")
    Path(sys.argv[2]).write_text(picture(curves(read(Path(sys.argv[1])))))

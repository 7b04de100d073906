"""Draws pictures from numbers: the only module that returns raw HTML. Texts of users: names in graphs, escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from jim.model import State
from jim.pages.pictures import axes
from jim.reading.job.history import Timeline
from jim.reading.job.map import Look, Map, Run
from jim.reading.lists import counted
from jim.reading.tasks.graph import Graph, Link, as_svg
from jim.reading.tasks.graph_down import as_svg_down
from jim.reading.tasks.pace import Past

PITCH = 5  # distance of cells; a cell is 4 wide and high, which leaves a gap


class Ink(NamedTuple):
    """The look of a state: the fill of its cells, and the mark on them."""

    mark: str = ""  # the outline of a mark in a cell of 4 × 4
    hollow: bool = False


CROSS = "M1 1L3 3M3 1L1 3"
INKS: Mapping[State, Ink] = {
    State.COMPLETED: Ink(),
    State.COMPLETING: Ink("M0 3h4"),
    State.RUNNING: Ink("M0 4L4 0"),
    State.SUSPENDED: Ink("M1.3.5v3M2.7.5v3"),
    State.HELD: Ink("M2 .5v3"),
    State.SUBMITTED: Ink("M2 1.5v1", hollow=True),
    State.SUBMITTING: Ink("M.5 2h3", hollow=True),
    State.WAITING: Ink(hollow=True),
    State.FAILED: Ink(CROSS),
    State.KILLED: Ink("M.7 2h2.6"),
    State.NEW: Ink(CROSS, hollow=True),
    State.COMPLETED_FROZEN: Ink("M0 0L4 4", hollow=True),
    State.FAILED_FROZEN: Ink(CROSS, hollow=True),
}


def name_of(state: State) -> str:
    """Return the name of a state for CSS classes."""
    return state.value.replace("_", "-")


def patterns() -> Markup:
    """Return the patterns of all states, once for a page."""
    return Markup('<svg class="defs" aria-hidden="true" focusable="false"><defs>{}</defs></svg>').format(
        Markup("").join(_pattern(state, ink) for state, ink in INKS.items())
    )


def _pattern(state: State, ink: Ink) -> Markup:
    name = name_of(state)
    inset = ".4" if ink.hollow else "0"
    side = "3.2" if ink.hollow else "4"
    cell = f'<rect class="{"hollow" if ink.hollow else "ink"}" x="{inset}" y="{inset}" width="{side}" height="{side}"/>'
    mark = f'<path class="mark" d="{ink.mark}"/>' if ink.mark else ""
    return Markup(  # noqa: S704
        f'<pattern id="p-{name}" class="s-{name}" width="{PITCH}" height="{PITCH}" patternUnits="userSpaceOnUse">'
        f"{cell}{mark}</pattern>"
    )


def key(state: State) -> Markup:
    """Draw the sign of a state, shown before its word."""
    return Markup(  # noqa: S704
        f'<svg class="key" viewBox="0 0 4 4" aria-hidden="true" focusable="false">'
        f'<rect width="4" height="4" fill="url(#p-{name_of(state)})"/></svg>'
    )


def map_of(drawn: Map) -> Markup:
    """Draw the map: one path for each look, for any number of cells."""
    paths = "".join(_path(look, runs) for look, runs in drawn.runs.items())
    width, height = drawn.columns * PITCH - 1, drawn.rows * PITCH - 1
    return Markup(  # noqa: S704
        f'<svg class="map c{drawn.columns}" viewBox="0 0 {width} {height}" data-first="{drawn.first}" '
        f'data-count="{drawn.count}" data-per="{drawn.per_cell}" data-columns="{drawn.columns}" '
        f'aria-hidden="true" focusable="false">{paths}<rect class="cursor" width="4" height="4"/></svg>'
    )


def _path(look: Look, runs: Iterable[Run]) -> str:
    steps, x, y = [], 0, 0
    for run in runs:
        left, top = run.column * PITCH, run.row * PITCH + 2
        length = run.length * PITCH - 1
        steps.append(f"m{left - x} {top - y}h{length}")
        x, y = left + length, top
    dim = " dim" if look.dim else ""
    return f'<path class="d{look.shade}{dim}" stroke="url(#p-{name_of(look.state)})" d="{"".join(steps)}"/>'


def bar(counts: Mapping[State, int]) -> Markup:
    """Draw shares of states as one bar."""
    return strip(counted(counts))


def strip(shares: Sequence[tuple[State, int]]) -> Markup:
    """Draw shares, each with the look of a state, as one bar."""
    total, x, parts = sum(count for _, count in shares), 0.0, []
    for state, count in shares:
        width = 100 * count / total
        parts.append(f'<rect class="s-{name_of(state)} ink" x="{x:.2f}" width="{width:.2f}" height="8"/>')
        x += width
    return Markup(  # noqa: S704
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f"{''.join(parts)}</svg>"
    )


def progress(done: int, total: int) -> Markup:
    """Draw the share that is done; more than the total is a full bar with a mark."""
    share = min(100.0, 100 * done / total) if total else 0.0
    over = '<rect class="over" x="97" width="3" height="8"/>' if done > total else ""
    return Markup(  # noqa: S704
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f'<rect class="done" width="{share:.2f}" height="8"/>{over}</svg>'
    )


HEIGHT, PIXELS = 40, 80  # of a chart: in its own units, and as it is shown
STACKED = ("completed", "failed", "killed")


def bars(timeline: Timeline, what: Sequence[str] = STACKED) -> Markup:
    """Draw counts over time as stacked bars, with the hours below and the counts beside them."""
    series = [timeline.counts[each] for each in what if each in timeline.counts]
    names = [each for each in what if each in timeline.counts]
    most = max((sum(each) for each in zip(*series, strict=True)), default=0)
    base, paths = [0.0] * timeline.length, []
    for name, counts in zip(names, series, strict=True):
        steps = []
        for at, count in enumerate(counts):
            if count:
                height = max(0.6, HEIGHT * count / axes.top_of(most))
                steps.append(f"M{at * 4 + 2} {HEIGHT - base[at]:.1f}v-{height:.1f}")
                base[at] += height
        paths.append(f'<path class="t-{name}" d="{"".join(steps)}"/>')
    return _chart("".join(paths), timeline, axes.counts(most))


def allowance(past: Past) -> Markup:
    """Draw an allowance over the time of a timeline; each further tenfold is as high as the first."""
    if past.ends is None:
        return Markup("")
    length, steps = 4 * past.ends.length, ""
    for at, share in past.course():
        x, y = length * min(1.0, max(0.0, at)), HEIGHT * (1 - share)
        steps += f"H{x:.1f}V{y:.1f}" if steps else f"M{x:.1f} {y:.1f}"
    line = f'<path class="allowance" d="{steps}H{length}"/>' if steps else ""
    ticks = [axes.Tick(past.height(each), axes.short(each)) for each in axes.tenfold(past.most)]
    return _chart(line, past.ends, ticks)


def _chart(drawn: str, timeline: Timeline, ticks: Sequence[axes.Tick]) -> Markup:
    """Draw a chart with its axes. It is as wide as there is room: only what is inside is stretched, no letter is."""
    wide = max(axes.FEWEST, timeline.length)
    rules = "".join(
        f'<line class="rule" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="count" x="-6" y="{y + 4:.1f}">{each.words}</text>'
        for each in ticks
        for y in (PIXELS * (1 - each.share),)
    )
    hours = "".join(
        f'<line class="rule" x1="{x:.2f}%" x2="{x:.2f}%" y1="{PIXELS}" y2="{PIXELS + 4}"/>'
        f'<text class="hour" x="{x:.2f}%" y="{PIXELS + 16}" data-at="{each.at}">{each.words}</text>'
        for each in axes.times(timeline.begin, wide * timeline.step_minutes)
        for x in (100 * each.share,)
    )
    box = f'viewBox="0 0 {4 * wide} {HEIGHT}" width="100%" height="{PIXELS}" preserveAspectRatio="none"'
    return Markup(  # noqa: S704
        f'<svg class="chart" aria-hidden="true" focusable="false">{rules}{hours}<svg class="bars" {box}>{drawn}</svg>'
        "</svg>"
    )


def graph(found: Graph, link: Link) -> Markup:
    """Draw tasks and how they feed one another; `as_svg` escapes all texts."""
    return Markup(as_svg(found, link))  # noqa: S704


def graph_down(found: Graph, link: Link) -> Markup:
    """Draw the same for a narrow screen; `as_svg_down` escapes all texts, too."""
    return Markup(as_svg_down(found, link))  # noqa: S704

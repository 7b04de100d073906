"""A histogram, and its picture as SVG without a drawing library, a script, or anything fetched."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

MOST_BINS = 40
FINER = 8  # the peak is searched in bins this many times finer than the drawn ones

WIDTH, HEIGHT = 760, 520
LEFT, RIGHT, TOP, BOTTOM = 92, 730, 62, 440
INK, STEP, AREA, PEAK = "#1b1f24", "#1f4e8c", "#d6e4f5", "#b3261e"
FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"


class Histogram:
    """Counts of values in equal bins from `low` to `high`; its size does not grow with the values."""

    def __init__(self, low: float, high: float, bins: int) -> None:
        self.low, self.high, self.bins = low, high, bins
        self.entries = 0  # all values, including those outside
        self._fine = [0] * (bins * FINER)
        self._sums = [0.0] * (bins * FINER)

    @classmethod
    def between(cls, low: float, high: float) -> Histogram:
        """Choose a round bin width that gives at most 40 bins."""
        width = next(step for step in _round_steps() if (high - low) / step <= MOST_BINS)
        bins = math.ceil((high - low) / width - 1e-9)
        return cls(low, low + bins * width, bins)

    @property
    def width(self) -> float:
        """The width of a bin."""
        return (self.high - self.low) / self.bins

    @property
    def counts(self) -> list[int]:
        """The number of values in each bin."""
        return [sum(self._fine[at : at + FINER]) for at in range(0, len(self._fine), FINER)]

    @property
    def outside(self) -> int:
        """The number of values in no bin."""
        return self.entries - sum(self._fine)

    def fill(self, value: float) -> None:
        """Count a value; the upper end belongs to no bin."""
        self.entries += 1
        if self.low <= value < self.high:
            at = min(int((value - self.low) / self.width * FINER), len(self._fine) - 1)
            self._fine[at] += 1
            self._sums[at] += value

    @property
    def peak(self) -> float | None:
        """The position of the peak: the mean within ±1.5 bins of itself, found from the highest bin on."""
        counts = self.counts
        if not any(counts):
            return None
        centre = self.low + (counts.index(max(counts)) + 0.5) * self.width
        for _ in range(20):
            before, centre = centre, self._mean_around(centre)
            if centre == before:
                break
        return centre

    def _mean_around(self, centre: float) -> float:
        middle = (centre - self.low) / self.width * FINER
        near = slice(max(0, round(middle - 1.5 * FINER)), round(middle + 1.5 * FINER))
        count = sum(self._fine[near])
        return sum(self._sums[near]) / count if count else centre


def _round_steps() -> Iterator[float]:
    return (digit * 10.0**power for power in range(-6, 12) for digit in (1, 2, 5))


@dataclass(frozen=True, slots=True)
class _Scale:
    """Converts values and counts into positions in the picture."""

    low: float
    high: float
    top: float

    def x(self, value: float) -> float:
        return LEFT + (value - self.low) / (self.high - self.low) * (RIGHT - LEFT)

    def y(self, count: float) -> float:
        return BOTTOM - count / self.top * (BOTTOM - TOP)


def draw(histogram: Histogram, title: str, quantity: str, unit: str, notes: Sequence[str]) -> str:
    """Draw a histogram with error bars √n, its peak, and lines of notes; return an SVG document."""
    highest = max(histogram.counts)
    scale = _Scale(histogram.low, histogram.high, 1.2 * (highest + math.sqrt(highest)) or 1.0)
    words = escape(f"{title}: {quantity} of {'; '.join(notes)}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}"',
        f' width="{WIDTH}" height="{HEIGHT}" font-family="{FONT}" fill="{INK}" stroke-linecap="butt">',
        f"<title>{words}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *_peak(histogram.peak, unit, scale),  # first: the histogram covers its lower part
        *_steps(histogram, scale),
        *_error_bars(histogram, scale),
        *_ticks_below(scale),
        *_ticks_left(scale),
        f'<path d="M{LEFT} {TOP}H{RIGHT}V{BOTTOM}H{LEFT}Z" fill="none" stroke="{INK}" stroke-width="1.4"/>',
        _text(LEFT, TOP - 18, 21, title),
        _text(RIGHT, BOTTOM + 58, 18, f"{quantity} [{unit}]", "end"),
        f'<g transform="translate(30 {TOP}) rotate(-90)">',
        _text(0, 0, 18, f"events / {histogram.width:g} {unit}", "end"),
        "</g>",
        *_notes(notes, histogram.outside),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _steps(histogram: Histogram, scale: _Scale) -> Iterator[str]:
    path = f"M{LEFT} {BOTTOM}"
    for at, count in enumerate(histogram.counts):
        end = scale.x(histogram.low + (at + 1) * histogram.width)
        path += f"V{scale.y(count):.1f}H{end:.1f}"
    yield f'<path d="{path}V{BOTTOM}Z" fill="{AREA}"/>'
    yield f'<path d="{path}V{BOTTOM}" fill="none" stroke="{STEP}" stroke-width="1.8" stroke-linejoin="round"/>'


def _error_bars(histogram: Histogram, scale: _Scale) -> Iterator[str]:
    yield f'<g stroke="{STEP}" stroke-width="1.2">'
    for at, count in enumerate(histogram.counts):
        if count:
            x, error = scale.x(histogram.low + (at + 0.5) * histogram.width), math.sqrt(count)
            ends = f'y1="{scale.y(count + error):.1f}" y2="{scale.y(count - error):.1f}"'
            yield f'<line class="bin" data-events="{count}" x1="{x:.1f}" x2="{x:.1f}" {ends}/>'
    yield "</g>"


def _peak(peak: float | None, unit: str, scale: _Scale) -> Iterator[str]:
    if peak is not None:
        x = scale.x(peak)
        place, anchor = (x - 12, "end") if x > (LEFT + RIGHT) / 3 else (x + 12, "start")
        yield f'<g fill="{PEAK}">{_text(place, TOP + 36, 16, f"peak at {peak:.1f} {unit}", anchor)}</g>'
        yield f'<path d="M{x:.1f} {TOP}V{BOTTOM}" stroke="{PEAK}" stroke-width="1.2" stroke-dasharray="6 4"/>'


def _ticks_below(scale: _Scale) -> Iterator[str]:
    step, fine = _tick_steps(scale.high - scale.low, 8)
    for value in _multiples(fine, scale.low, scale.high):
        major = _is_multiple(value, step)
        length, x = 10 if major else 5, scale.x(value)
        for edge, direction in ((BOTTOM, -length), (TOP, length)):
            yield f'<path d="M{x:.1f} {edge}v{direction}" stroke="{INK}" stroke-width="1.2"/>'
        if major:
            yield _text(x, BOTTOM + 25, 16, f"{value:g}", "middle")


def _ticks_left(scale: _Scale) -> Iterator[str]:
    step, fine = _tick_steps(scale.top, 6, least=1)
    for count in _multiples(fine, 0, scale.top):
        major = _is_multiple(count, step)
        length, y = 10 if major else 5, scale.y(count)
        for edge, direction in ((LEFT, length), (RIGHT, -length)):
            yield f'<path d="M{edge} {y:.1f}h{direction}" stroke="{INK}" stroke-width="1.2"/>'
        if major:
            yield _text(LEFT - 10, y + 5.5, 16, f"{count:,.10g}", "end")


def _tick_steps(length: float, most: int, least: float = 0) -> tuple[float, float]:
    """Choose round steps between ticks with a number, and between those without."""
    step = next(step for step in _round_steps() if length / step <= most and step >= least)
    return step, max(least, step / 4 if f"{step:e}".startswith("2") else step / 5)


def _multiples(step: float, low: float, high: float) -> Iterator[float]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return (number * step for number in range(first, last + 1))


def _is_multiple(value: float, step: float) -> bool:
    return abs(value / step - round(value / step)) < 1e-6


def _notes(notes: Sequence[str], outside: int) -> Iterable[str]:
    lines = [*notes, f"{outside:,} outside the range"] if outside else notes
    return [_text(RIGHT - 20, TOP + 36 + 25 * at, 16, line, "end") for at, line in enumerate(lines)]


def _text(x: float, y: float, size: int, words: str, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
    halo = 'paint-order="stroke" stroke="#ffffff" stroke-width="4"'  # keeps words readable on lines
    return f"<text {place} {halo}>{escape(words)}</text>"

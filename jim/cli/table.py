"""Tables for people: a line for each row, else words that wrap, else sentences below their rows, else values."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from jim.cli.text import lines_of, plain, room, width_of

COLOURS = {  # of a state on a terminal, as its codes have it
    "completed": "32",
    "running": "36",
    "completing": "36",
    "failed": "1;31",
    "killed": "31",
    "again": "33",
    "held": "33",
    "suspended": "33",
    "unknown": "33",
    "refused": "31",
    # those of tasks
    "testing": "36",
    "paused": "33",
    "cancelling": "31",
    "cancelled": "31",
    "finished: completed": "32",
    "finished: with failures": "1;31",
}
BOLD = "1"
BLOCK = 1000  # rows that are in memory at once
GAP = "  "
MOST_LINES = 6  # of one cell; `jim show` and JSON tell in full what is cut off
LEAST = 12  # columns in which words can be read
SENTENCE = 30  # columns in which sentences can be read: a last column with less stands below
BELOW = "    "  # the margin there


def table(head: Sequence[str], rows: Iterable[Sequence[object]], spare: Collection[str] = ()) -> None:
    """Print a table, in blocks, however long it is; a later block may need wider columns than those before.

    On a terminal, states have colours, and rows are no longer than a line of the terminal: where there would be no
    table otherwise, the spare columns are left out. Elsewhere a row is a line.
    """
    columns, coloured = _Columns(head, room(sys.stdout), spare), _has_colours()
    cells = ([plain("" if cell is None else cell) for cell in row] for row in rows)
    block = list(islice(cells, BLOCK))
    columns.take(block)
    for line in columns.head(BOLD if coloured else ""):
        print(line)
    while block:
        for row in block:
            for line in columns.row(row, COLOURS if coloured else {}):
                print(line)
        block = list(islice(cells, BLOCK))
        columns.take(block)


def _has_colours() -> bool:
    told = os.environ
    return sys.stdout.isatty() and not told.get("NO_COLOR") and told.get("TERM", "dumb") not in ("dumb", "unknown")


def _longest_word(cell: str) -> int:
    return max(map(width_of, cell.split()), default=0)


class _Columns:
    """The columns of a table: what they need, and the widths that they get."""

    def __init__(self, head: Sequence[str], room: int, spare: Collection[str]) -> None:
        self._head, self._room, self._spare, self._begun = head, room, spare, False
        self._needed, self._longest = list(map(width_of, head)), list(map(_longest_word, head))
        self._filled = [False] * len(head)
        self._shown: list[int] = []  # the numbers of the columns that have room
        self._widths: list[int] = []  # of these, perhaps without that of the last one; none: no table fits

    def take(self, rows: Sequence[Sequence[str]]) -> None:
        """Make room for rows."""
        for n, column in enumerate(zip(*rows, strict=True)):
            self._needed[n] = max(self._needed[n], *map(width_of, column))
            self._longest[n] = max(self._longest[n], *map(_longest_word, column))
            self._filled[n] = self._filled[n] or any(column)
        fits = not self._room or sum(self._needed) + len(GAP) * (len(self._needed) - 1) <= self._room
        # Empty columns need no room where there is little.
        self._shown = [n for n, filled in enumerate(self._filled) if fits or filled or n == 0]
        self._widths = self._fitting(self._shown)
        fewer = [n for n in self._shown if self._head[n] not in self._spare]
        if not self._widths and (widths := self._fitting(fewer)):
            self._shown, self._widths = fewer, widths

    def _fitting(self, numbers: Sequence[int]) -> list[int]:
        needed, longest = ([each[n] for n in numbers] for each in (self._needed, self._longest))
        return _widths(needed, longest, self._room)

    def head(self, code: str) -> Iterator[str]:
        """Return the lines of the head; there are none where each value has a line."""
        yield from self._lines(self._head, dict.fromkeys(self._head, code)) if self._widths else ()

    def row(self, cells: Sequence[str], codes: Mapping[str, str]) -> Iterator[str]:
        """Return the lines of a row."""
        if self._widths:
            yield from self._lines(cells, codes)
        else:
            yield from [""] if self._begun else ()
            yield from _as_list(self._head, cells, self._room, codes)
        self._begun = True

    def _lines(self, row: Sequence[str], codes: Mapping[str, str]) -> Iterator[str]:
        row = [row[n] for n in self._shown]
        cells = [list(wrapped(cell, width)) for cell, width in zip(row, self._widths, strict=False)]
        for number in range(max(map(len, cells))):
            parts = [cell[number] if number < len(cell) else "" for cell in cells]
            shown = (
                _coloured(part, codes.get(cell, "")) + " " * (width - width_of(part))
                for part, cell, width in zip(parts, row, self._widths, strict=False)
            )
            yield GAP.join(shown).rstrip()
        for cell in row[len(self._widths) :]:
            below = wrapped(cell, self._room - len(BELOW))
            yield from (BELOW + _coloured(part, codes.get(cell, "")) for part in below if part)


def _widths(needed: Sequence[int], longest: Sequence[int], room: int) -> list[int]:
    """Return the widths of the columns; without that of the last one, if its sentences have more room below."""
    widths = _fitted(needed, longest, room)
    if needed[-1] <= SENTENCE or (widths and widths[-1] >= SENTENCE):
        return widths
    return _fitted(needed[:-1], longest[:-1], room) or widths


def _fitted(needed: Sequence[int], longest: Sequence[int], room: int) -> list[int]:
    """Return the width of each column such that a row fits; none, if words would have to be broken."""
    widths = list(needed)
    while room and (excess := sum(widths) + len(GAP) * (len(widths) - 1) - room) > 0:
        # The widest column gives way first, as far as the second widest, and never below its longest word.
        able = [n for n, width in enumerate(widths) if width > max(longest[n], LEAST)]
        if not able:
            return []
        widest = max(able, key=widths.__getitem__)
        second = max((widths[n] for n in able if n != widest), default=0)
        least = max(longest[widest], LEAST, min(second, widths[widest] - 1))
        widths[widest] -= max(1, min(excess, widths[widest] - least))
    return widths


def _as_list(head: Sequence[str], row: Sequence[str], room: int, codes: Mapping[str, str]) -> Iterator[str]:
    """Return a row as lines of a name and a value, for a terminal too narrow for a table."""
    margin = max(map(width_of, head)) + len(GAP)
    for name, cell in zip(head, row, strict=True):
        for number, part in enumerate(wrapped(cell, max(LEAST, room - margin)) if cell else ()):
            yield (name if number == 0 else "").ljust(margin) + _coloured(part, codes.get(cell, ""))


def wrapped(cell: str, width: int) -> Iterator[str]:
    """Return the lines of a cell. No word is broken; a cell of more than a few lines is cut."""
    lines = list(lines_of(cell, width))
    yield from lines[: MOST_LINES - 1]
    if len(lines) > MOST_LINES:
        last = lines[MOST_LINES - 1]
        yield f"{last if width_of(last) + 2 <= width else last.rpartition(' ')[0] or last[: width - 2]} …"
    else:
        yield from lines[MOST_LINES - 1 :]


def _coloured(word: str, code: str) -> str:
    return f"\x1b[{code}m{word}\x1b[0m" if code and word else word

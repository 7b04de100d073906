"""Tables for people: a line for each row, else words that wrap, else sentences below their rows, else values."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

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
}
BOLD = "1"
BLOCK = 1000  # rows that are in memory at once
GAP = "  "
MOST_LINES = 6  # of one cell; `jim show` and JSON tell in full what is cut off
LEAST = 12  # columns in which words can be read
SENTENCE = 30  # columns in which sentences can be read: a last column with less stands below
BELOW = "    "  # the margin there


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, in blocks, however long it is; a later block may need wider columns than those before.

    On a terminal, states have colours, and rows are no longer than a line of the terminal. Elsewhere a row is a line.
    """
    words = ([plain("" if cell is None else cell) for cell in row] for row in chain([head], rows))
    width, codes = room(sys.stdout), dict.fromkeys(head, BOLD) if _has_colours() else {}
    needed, longest, has_last, separated = [0] * len(head), [0] * len(head), False, False
    while block := list(islice(words, BLOCK)):
        columns = list(zip(*block, strict=True))
        needed = [max(before, *map(width_of, column)) for before, column in zip(needed, columns, strict=True)]
        longest = [max(before, *map(_longest_word, column)) for before, column in zip(longest, columns, strict=True)]
        has_last = has_last or any(row[-1] for row in block if row != list(head))
        widths = _widths(needed, longest, width, has_last=has_last)
        for row in block:
            if widths:
                lines = _as_lines(row if has_last else row[: len(widths)], widths, width, codes)
            else:
                lines = _as_list(head, row, width, codes, separated=separated)
                separated = row != list(head)
            for line in lines:
                print(line)
            codes = COLOURS if codes else codes


def _has_colours() -> bool:
    told = os.environ
    return sys.stdout.isatty() and not told.get("NO_COLOR") and told.get("TERM", "dumb") not in ("dumb", "unknown")


def _longest_word(cell: str) -> int:
    return max(map(width_of, cell.split()), default=0)


def _widths(needed: Sequence[int], longest: Sequence[int], room: int, *, has_last: bool) -> list[int]:
    """Return the widths of the columns; without the last one if it is empty, or its sentences have more room below."""
    widths = _fitted(needed, longest, room)
    if widths == needed or (has_last and (needed[-1] <= SENTENCE or (widths and widths[-1] >= SENTENCE))):
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


def _as_lines(row: Sequence[str], widths: Sequence[int], room: int, codes: dict[str, str]) -> Iterator[str]:
    cells = [list(wrapped(cell, width)) for cell, width in zip(row, widths, strict=False)]
    for number in range(max(map(len, cells))):
        parts = [cell[number] if number < len(cell) else "" for cell in cells]
        shown = (
            _coloured(part, codes.get(cell, "")) + " " * (width - width_of(part))
            for part, cell, width in zip(parts, row, widths, strict=False)
        )
        yield GAP.join(shown).rstrip()
    for cell in row[len(widths) :]:
        yield from (BELOW + _coloured(part, codes.get(cell, "")) for part in wrapped(cell, room - len(BELOW)) if part)


def _as_list(
    head: Sequence[str], row: Sequence[str], room: int, codes: dict[str, str], *, separated: bool
) -> Iterator[str]:
    """Return a row as lines of a name and a value, for a terminal too narrow for a table; the head gets no lines."""
    if list(row) == list(head):
        return
    if separated:
        yield ""
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

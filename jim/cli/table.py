"""Tables for people: one line a row where there is room, else words that wrap, else one line for each value."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from jim.cli.text import columns, plain

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


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, in blocks, however long it is; a later block may need wider columns than those before.

    On a terminal, states have colours, and rows are no longer than a line of the terminal. Elsewhere a row is a line.
    """
    words = ([plain("" if cell is None else cell) for cell in row] for row in chain([head], rows))
    room, codes = _room(), dict.fromkeys(head, BOLD) if _has_colours() else {}
    needed, longest = [0] * len(head), [0] * len(head)
    while block := list(islice(words, BLOCK)):
        columns = list(zip(*block, strict=True))
        needed = [max(width, *map(width_of, column)) for width, column in zip(needed, columns, strict=True)]
        longest = [max(width, *map(_longest_word, column)) for width, column in zip(longest, columns, strict=True)]
        widths = _fitted(needed, longest, room)
        for row in block:
            lines = _as_lines(row, widths, codes) if widths else _as_list(head, row, room, codes)
            for line in lines:
                print(line)
            codes = COLOURS if codes else codes


def _room() -> int:
    """Return how long a line may be; 0: any length."""
    return columns() if sys.stdout.isatty() else 0


def _has_colours() -> bool:
    told = os.environ
    return sys.stdout.isatty() and not told.get("NO_COLOR") and told.get("TERM", "dumb") not in ("dumb", "unknown")


def width_of(word: str) -> int:
    """Return how many columns of a terminal a word takes."""
    if word.isascii():
        return len(word)
    from rich.cells import cell_len  # loaded for names that are not ASCII alone: it takes as long as all the rest

    return cell_len(word)


def _longest_word(cell: str) -> int:
    return max(map(width_of, cell.split()), default=0)


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


def _as_lines(row: Sequence[str], widths: Sequence[int], codes: dict[str, str]) -> Iterator[str]:
    cells = [list(wrapped(cell, width)) for cell, width in zip(row, widths, strict=True)]
    for number in range(max(map(len, cells))):
        parts = [cell[number] if number < len(cell) else "" for cell in cells]
        shown = (
            _coloured(part, codes.get(cell, "")) + " " * (width - width_of(part))
            for part, cell, width in zip(parts, row, widths, strict=True)
        )
        yield GAP.join(shown).rstrip()


def _as_list(head: Sequence[str], row: Sequence[str], room: int, codes: dict[str, str]) -> Iterator[str]:
    """Return a row as lines of a name and a value, for a terminal too narrow for a table; the head gets no lines."""
    if list(row) == list(head):
        return
    margin = max(map(width_of, head)) + len(GAP)
    for name, cell in zip(head, row, strict=True):
        for number, part in enumerate(wrapped(cell, max(LEAST, room - margin)) if cell else ()):
            yield (name if number == 0 else "").ljust(margin) + _coloured(part, codes.get(cell, ""))
    yield ""


def wrapped(cell: str, width: int) -> Iterator[str]:
    """Return the lines of a cell. No word is broken; a cell of more than a few lines is cut."""
    lines = [""]
    for word in cell.split(" "):
        if lines[-1] and width_of(lines[-1]) + 1 + width_of(word) > width:
            lines.append(word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    if len(lines) > MOST_LINES:
        lines[MOST_LINES - 1 :] = [f"{lines[MOST_LINES - 1][: width - 2]} …"]
    yield from lines


def _coloured(word: str, code: str) -> str:
    return f"\x1b[{code}m{word}\x1b[0m" if code and word else word

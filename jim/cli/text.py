"""What reaches a terminal: escaped text, ages in words, tables."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jim.admin.finding import Finding

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
HEAD = "1"  # bold
BLOCK = 1000  # rows of a table that are in memory at once, and the first ones determine its columns


def plain(text: object) -> str:
    """Give text as one line that no terminal can take for a command: what is not printable is escaped."""
    words = str(text)
    return words if words.isprintable() else "".join(map(_plain_character, words))


def escaped(text: object) -> str:
    """Like `plain`, of several lines."""
    return "\n".join(plain(line.expandtabs()) for line in str(text).split("\n"))


def _plain_character(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def say(text: object = "") -> None:
    """Print lines, escaped."""
    print(escaped(text).removesuffix("\n"))


def say_json(document: Any) -> None:
    """Print one JSON document; JSON escapes by itself what a terminal must not see."""
    print(json.dumps(document, indent=2))


def say_json_in_parts(document: Mapping[str, Any]) -> None:
    """Print one JSON document as `say_json` does. A value that is an iterator is printed as a list, item by item."""
    before = "{"
    for name, value in document.items():
        print(f"{before}\n  {json.dumps(name)}: ", end="")
        if isinstance(value, Iterator):
            _say_items(value)
        else:
            print(_indented(value, "  "), end="")
        before = ","
    print("\n}")


def _say_items(items: Iterator[Any]) -> None:
    before = "["
    for each in items:
        print(f"{before}\n    {_indented(each, '    ')}", end="")
        before = ","
    print("[]" if before == "[" else "\n  ]", end="")


def _indented(value: Any, margin: str) -> str:
    return json.dumps(value, indent=2).replace("\n", f"\n{margin}")  # a string in JSON has no line ends of its own


def say_finding(finding: Finding) -> None:
    """Print the answer to one question about a site."""
    say(f"{finding.level:<8} {finding.name}: {finding.said}{f'; {finding.todo}' if finding.todo else ''}")


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Print names and values in two columns, without those that are empty."""
    for name, value in pairs:
        if value not in ("", None):
            say(f"{name:<13}{value}")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, in blocks, however long it is; with colours where the terminal has them.

    A later block may need wider columns than those before.
    """
    words = ([plain("" if cell is None else cell) for cell in row] for row in chain([head], rows))
    widths, codes = [0] * len(head), dict.fromkeys(head, HEAD) if _has_colours() else {}
    while block := list(islice(words, BLOCK)):
        widths = [max(width, *map(_width, column)) for width, *column in zip(widths, *block, strict=True)]
        for row in block:
            cells = (_cell(word, width, codes.get(word, "")) for word, width in zip(row, widths, strict=True))
            print("  ".join(cells).rstrip())
            codes = COLOURS if codes else codes


def _cell(word: str, width: int, code: str) -> str:
    return (f"\x1b[{code}m{word}\x1b[0m" if code else word) + " " * (width - _width(word))


def _has_colours() -> bool:
    told = os.environ
    return sys.stdout.isatty() and not told.get("NO_COLOR") and told.get("TERM", "dumb") not in ("dumb", "unknown")


def _width(word: str) -> int:
    """Tell how many columns of a terminal a word takes."""
    if word.isascii():
        return len(word)
    from rich.cells import cell_len  # loaded for names that are not ASCII alone: it takes as long as all the rest

    return cell_len(word)

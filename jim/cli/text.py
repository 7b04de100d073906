"""Output for terminals: escaped text and tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jim.admin.finding import Finding

COLOURS = {
    "completed": "green",
    "running": "cyan",
    "completing": "cyan",
    "failed": "bold red",
    "killed": "red",
    "again": "yellow",
    "held": "yellow",
    "suspended": "yellow",
    "unknown": "yellow",
    "refused": "red",
}


def plain(text: object) -> str:
    """Return text as one line that no terminal interprets as a command; escape what is not printable."""
    words = str(text)
    return words if words.isprintable() else "".join(map(_plain_character, words))


def escaped(text: object) -> str:
    """Like `plain`, for several lines."""
    return "\n".join(plain(line.expandtabs()) for line in str(text).split("\n"))


def _plain_character(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def say(text: object = "") -> None:
    """Print lines, escaped."""
    print(escaped(text).removesuffix("\n"))


def say_json(document: Any) -> None:
    """Print one JSON document; JSON itself escapes control characters."""
    print(json.dumps(document, indent=2))


def say_finding(finding: Finding) -> None:
    """Print the answer to one question about a site."""
    say(f"{finding.level:<8} {finding.name}: {finding.said}{f'; {finding.todo}' if finding.todo else ''}")


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Print names and values in two columns; leave out empty values."""
    for name, value in pairs:
        if value not in ("", None):
            say(f"{name:<13}{value}")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, with colours on a terminal. The table of rich takes 2 ms for a row."""
    from rich.cells import cell_len
    from rich.color import ColorSystem
    from rich.console import Console
    from rich.style import Style

    console = Console()
    coloured = console.is_terminal and console.color_system is not None and not console.no_color
    words = [[plain("" if cell is None else cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(head, *words, strict=True)]
    for row, style in ((head, "bold"), *((each, "") for each in words)):
        line = []
        for word, width in zip(row, widths, strict=True):
            room = " " * (width - cell_len(word))
            how = style or COLOURS.get(word, "")
            shown = Style.parse(how).render(word, color_system=ColorSystem.STANDARD) if coloured and how else word
            line.append(shown + room)
        print("  ".join(line).rstrip())

"""Output for terminals: escaped text, facts, JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jim.admin.finding import Finding


def columns() -> int:
    """Return the width of the terminal, or what `COLUMNS` says; 80 if there is no terminal."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return int(told)
    with suppress(OSError):
        return os.get_terminal_size().columns or 80
    return 80


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
    """Print names and values in two columns; leave out empty values."""
    for name, value in pairs:
        if value not in ("", None):
            say(f"{name:<13}{value}")

"""Output for terminals: escaped text, facts, JSON."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from jim.errors import plain as plain  # for whoever prints

if TYPE_CHECKING:
    from jim.admin.finding import Finding

MARGIN = 13  # of values beside their names
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z")  # as stored
NARROW, BELOW = 20, "    "  # the least room of a second column; without it, words stand below the first, with a margin
COLUMN = re.compile(r" *(?:\S+(?: \S+)* {2,})?")  # margin and first column of a line
WORD = re.compile(r"(?:`[^`]*`|\S)+")  # what is in backticks is one word: whoever copies a command gets it whole


def columns() -> int:
    """Return the width of the terminal, or what `COLUMNS` says; 80 if there is no terminal."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return int(told)
    with suppress(OSError):
        return os.get_terminal_size().columns or 80
    return 80


def room(stream: TextIO) -> int:
    """Return how long a line on a stream may be; 0: any length, because it is no terminal."""
    return columns() if stream.isatty() else 0


def width_of(word: str) -> int:
    """Return how many columns of a terminal a word takes."""
    if word.isascii():
        return len(word)
    from rich.cells import cell_len  # loaded for names that are not ASCII alone: it takes as long as all the rest

    return cell_len(word)


def lines_of(text: str, width: int) -> Iterator[str]:
    """Break a text into lines without breaking a word; a width of 0 means any."""
    if not width or width_of(text) <= width:
        yield text
        return
    line = ""
    for word in _words(text, width):
        if line and width_of(line) + 1 + width_of(word) > width:
            yield line
            line = word
        else:
            line += f" {word}" if line else word
    yield line


def _words(text: str, width: int) -> Iterator[str]:
    for word in WORD.findall(text):
        yield from [word] if width_of(word) <= width else word.split()


def escaped(text: object) -> str:
    """Like `plain`, for several lines."""
    return "\n".join(plain(line.expandtabs()) for line in str(text).split("\n"))


def say(text: object = "", head: str = "", margin: str | None = None, stream: TextIO | None = None) -> None:
    """Print lines, escaped; on a terminal their words wrap.

    The first line begins with the head, further ones with the margin, or below the words of the first one.
    """
    out = stream or sys.stdout
    width = room(out)
    for line in escaped(text).removesuffix("\n").split("\n"):
        for part in _broken(line, head, " " * len(head) if margin is None else margin, width):
            print(part, file=out)
        head = head and (" " * len(head) if margin is None else margin)


def warn(sentences: Iterable[str]) -> None:
    """Print warnings on stderr."""
    for each in sentences:
        say(each, "jim: warning: ", "     ", sys.stderr)


def put(text: object) -> None:
    """Print the content of a file, escaped: every line as it is, however long."""
    print(escaped(text).removesuffix("\n"))


def _broken(line: str, head: str, margin: str, width: int) -> Iterator[str]:
    """Break a line that is longer than a terminal. Words in a second column stay there if it has room."""
    if not width or width_of(head + line) <= width:
        yield head + line
        return
    if not head and (found := COLUMN.match(line)):
        head, line = found[0], line[found.end() :]
        margin = " " * len(head)
        if width - len(head) < NARROW:
            yield head.rstrip()
            head = margin = BELOW
    rest = max(1, width - max(len(head), len(margin)))
    for part in lines_of(line, rest):
        if width_of(part) > rest:  # a long name has a line of its own, as far to the right as fits
            yield from [head.rstrip()] if head.strip() else ()
            head = margin[: max(0, width - width_of(part))]
        yield head + part
        head = margin


def local_time(text: str) -> str:
    """Return a stored time, which is UTC, in the time zone of whoever reads it."""
    if not text:
        return ""
    from datetime import datetime

    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def with_local_times(text: str) -> str:
    """Return a sentence with each stored time in the time zone of whoever reads it."""
    return TIME.sub(lambda found: _local_or_as_it_is(found[0]), text)


def _local_or_as_it_is(text: str) -> str:
    """Leave alone what only looks like a time: users write reasons and names."""
    try:
        return local_time(text)
    except (ValueError, OverflowError):
        return text


def say_json(document: Any) -> None:
    """Print one JSON document; JSON itself escapes control characters."""
    print(json.dumps(document, indent=2))


def say_json_in_parts(document: Mapping[str, Any]) -> None:
    """Print one JSON document as `say_json` does. A value that is an iterator is printed as a list, item by item."""
    before = "{"
    for name, value in document.items():
        print(f"{before}\n  {json.dumps(name)}: ", end="")
        if isinstance(value, Iterator):
            _say_items(value, "    ")
        else:
            print(_indented(value, "  "), end="")
        before = ","
    print("\n}")


def say_json_list(items: Iterable[Any]) -> None:
    """Print one JSON list as `say_json` does, item by item."""
    _say_items(items, "  ")
    print()


def _say_items(items: Iterable[Any], margin: str) -> None:
    before = "["
    for each in items:
        print(f"{before}\n{margin}{_indented(each, margin)}", end="")
        before = ","
    print("[]" if before == "[" else f"\n{margin[2:]}]", end="")


def _indented(value: Any, margin: str) -> str:
    return json.dumps(value, indent=2).replace("\n", f"\n{margin}")  # a string in JSON has no line ends of its own


def say_finding(finding: Finding) -> None:
    """Print the answer to one question about a site."""
    say(f"{finding.level:<8} {finding.name}: {finding.said}{f'; {finding.todo}' if finding.todo else ''}")


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Print names and values in two columns; leave out empty values."""
    for name, value in pairs:
        if value not in ("", None):
            say(value, f"{name:<{MARGIN - 1}} ")

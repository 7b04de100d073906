"""What is wrong in a task file: gathered, so that its writer is told all of it at once, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from jim.errors import BadRequest
from jim.request.languages import place

HEAD = re.compile(r"^[ \t]*\[\[[ \t]*task[ \t]*\]\]", re.MULTILINE)
COMMENT = re.compile(r"(?:^|[ \t])#[^\n]*", re.MULTILINE)
BEGINS = r"^[ \t]*(?:\[\[?[ \t]*task[ \t]*\.[ \t]*(?P<head>{0})[ \t]*[.\]]|(?P<key>[\"']?{0}[\"']?[ \t]*[.=]))"
ANOTHER = re.compile(r"^[ \t]*(?:\[|[\w\"'-]+[ \t]*[.=])", re.MULTILINE)  # a header, or a key that begins a line
HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
LIST_HEADER = re.compile(r"[ \t]*\[\[")
BRACE = re.compile(r"""[{}]|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")  # a brace within a text is none
Part = tuple[int, int]  # where something begins in a file, and where it ends


class Wrong(BadRequest):
    """Something in a task file is wrong; `told` is the path of its words, and `more` is what else is wrong.

    `nth` is the table that it is in, from 0, if there may be several of that name.
    """

    more: tuple[Wrong, ...] = ()
    nth: int | None = None


def wrong(path: str, words: str) -> Wrong:
    """Refuse what stands at a place of a task file."""
    return Wrong(words, path, told=path)


class Faults:
    """Gathers what is wrong. What is wrong at one path of one table is told once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int | None], Wrong] = {}

    def add(self, error: Wrong) -> None:
        """Remember what is wrong."""
        for each in (error, *error.more):
            self._found.setdefault((each.told, each.nth), each)

    @contextmanager
    def gathered(self, nth: int | None = None) -> Iterator[None]:
        """Go on after something wrong, and remember it; with the table that it is in."""
        try:
            yield
        except Wrong as error:
            for each in (error, *error.more):
                each.nth = nth if each.nth is None else each.nth
            self.add(error)

    def refuse(self) -> None:
        """Refuse everything if anything is wrong."""
        if self._found:
            first, *rest = self._found.values()
            first.more = tuple(rest)
            raise first


def where(text: str, at: int | None) -> str:
    """Return a position in words, before what is wrong there; empty: nobody knows it."""
    return "" if at is None else f"{place(text, at)}: "


def position(text: str, number: int | None, path: str, nth: int | None = None) -> int | None:
    """Return where a word of a task is, or without it where its table or the task begins; without a task, anywhere.

    `nth` says which table is meant, from 0, of several of one name; without it, the first one that has the word.
    """
    text = COMMENT.sub(lambda found: " " * len(found[0]), text)
    heads = [each.start() for each in HEAD.finditer(text)]
    if number is None or number >= len(heads):
        return _found(text, path.split("."), 0, len(text))
    begin, end = [*pairwise([*heads, len(text)])][number]
    table, *names = path.removeprefix("task.").split(".")
    parts = list(_tables(text, table, begin, end))
    several = _apart(text, parts) if nth is not None else []
    if nth is not None and 1 < len(several) > nth:
        parts = several[nth]
    for start, stop in parts if names else ():
        if (found := _found(text, names, start, stop)) is not None:
            return found
    return parts[0][0] if parts else begin


def _apart(text: str, parts: Sequence[Part]) -> list[list[Part]]:
    """Return the parts of each table of a list: one begins at a header with two brackets, or at a brace in a list."""
    found: list[list[Part]] = []
    for start, stop in parts:
        line = text.rfind("\n", 0, start) + 1
        if not HEADER.match(text, line):
            found += [[each] for each in _braced(text, start, stop)]
        elif LIST_HEADER.match(text, line) or not found:
            found.append([(start, stop)])
        else:
            found[-1].append((start, stop))
    return found


def _braced(text: str, begin: int, end: int) -> Iterator[Part]:
    """Yield what stands between braces that are in no others."""
    depth, start = 0, begin
    for each in BRACE.finditer(text, begin, end):
        if each[0] == "{":
            start = each.start() if depth == 0 else start
            depth += 1
        elif each[0] == "}":
            depth -= 1
            if depth == 0:
                yield start, each.end()


def _tables(text: str, name: str, begin: int, end: int) -> Iterator[Part]:
    """Yield each part of a task that a word of it begins: a table below a header, or what stands behind its key."""
    for found in re.compile(BEGINS.format(re.escape(name)), re.MULTILINE).finditer(text, begin, end):
        start = found.start("key" if found["key"] else "head")
        if found["key"] and any(HEAD.match(text, each.start()) is None for each in HEADER.finditer(text, begin, start)):
            continue  # a word of another table
        after = (ANOTHER if found["key"] else HEADER).search(text, found.end(), end)
        yield start, after.start() if after else end


def _found(text: str, names: list[str], begin: int, end: int) -> int | None:
    """Return where the last of these words that can be found is."""
    for name in reversed(names):
        for before in (
            r"^[ \t]*",
            r"(?:^|[{,.\s\[])",
        ):  # better where a line begins with it: a rule may have that word, too
            word = rf"""{before}(["']?{re.escape(name)}["']?)[ \t]*(?:=|\]|\.)"""
            if found := re.compile(word, re.MULTILINE).search(text, begin, end):
                return found.start(1)
    return None

"""What is wrong in a task file: gathered, so that its writer is told all of it at once, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from jim.errors import BadRequest
from jim.request.languages import place

HEAD = re.compile(r"^[ \t]*\[\[[ \t]*task[ \t]*\]\]", re.MULTILINE)
COMMENT = re.compile(r"(?:^|[ \t])#[^\n]*", re.MULTILINE)
BEGINS = r"^[ \t]*(?:\[\[?[ \t]*task[ \t]*\.[ \t]*(?P<head>{0})[ \t]*[.\]]|(?P<key>[\"']?{0}[\"']?[ \t]*[.=]))"
ANOTHER = re.compile(r"^[ \t]*(?:\[|[\w\"'-]+[ \t]*[.=])", re.MULTILINE)  # a header, or a key that begins a line
HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)


class Wrong(BadRequest):
    """Something in a task file is wrong; `told` is the path of its words, and `more` is what else is wrong."""

    more: tuple[Wrong, ...] = ()


def wrong(path: str, words: str) -> Wrong:
    """Refuse what stands at a place of a task file."""
    return Wrong(words, path, told=path)


class Faults:
    """Gathers what is wrong. What is wrong at one path is told once."""

    def __init__(self) -> None:
        self._found: dict[str, Wrong] = {}

    def add(self, error: Wrong) -> None:
        """Remember what is wrong."""
        for each in (error, *error.more):
            self._found.setdefault(each.told, each)

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Go on after something wrong, and remember it."""
        try:
            yield
        except Wrong as error:
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


def position(text: str, number: int | None, path: str) -> int | None:
    """Return where a word of a task is, or without it where its table or the task begins; without a task, anywhere."""
    text = COMMENT.sub(lambda found: " " * len(found[0]), text)
    heads = [each.start() for each in HEAD.finditer(text)]
    if number is None or number >= len(heads):
        return _found(text, path.split("."), 0, len(text))
    begin, end = [*pairwise([*heads, len(text)])][number]
    table, *names = path.removeprefix("task.").split(".")
    first: int | None = None
    for start, stop in _tables(text, table, begin, end):
        first = start if first is None else first
        if names and (found := _found(text, names, start, stop)) is not None:
            return found
    return begin if first is None else first


def _tables(text: str, name: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
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
        word = rf"""(?:^|[{{,.\s\[])(["']?{re.escape(name)}["']?)[ \t]*(?:=|\]|\.)"""
        if found := re.compile(word, re.MULTILINE).search(text, begin, end):
            return found.start(1)
    return None

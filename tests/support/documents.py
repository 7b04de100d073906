"""Reads the documents of JIM, for tests that hold them to what is so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

HOME = Path(__file__).parents[2]


@cache
def text_of(page: str) -> str:
    return (HOME / page).read_text()


def blocks(page: str, language: str) -> list[str]:
    """Give the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL)


def indented(page: str) -> list[str]:
    """Give the indented blocks, without their indentation."""
    found = re.findall(r"(?:^\n)((?:^(?: {4}|\t).*\n|^\n(?= {4}))+)", text_of(page), re.MULTILINE)
    return [re.sub(r"^ {4,}(?=\S)", "", block, flags=re.MULTILINE) for block in found]


def code(page: str) -> Iterator[str]:
    """Give what is set as code: spans, and lines of blocks."""
    text = re.sub(r"^```\w*\n.*?^```", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    yield from (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text))
    for block in [*blocks(page, "sh"), *indented(page)]:
        yield from block.splitlines()

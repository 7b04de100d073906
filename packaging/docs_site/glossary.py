"""Finds the words of the glossary in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from docs_site.markdown_text import slug

PAGE = "docs/glossary"
# These have an everyday sense, too: only where they are slanted they are surely JIM's.
EVERYDAY = {
    *("answer", "frozen", "generation", "held", "history", "index", "instance", "key", "lost", "mark", "move", "new"),
    *("scratch", "serial", "settle", "silence", "step", "touch"),
}
ROW = re.compile(r"^\| ([^|]+?) \| (.+?) \| [^|]* \|$", re.MULTILINE)
MARKED = re.compile(r"\[([^\]]*)\]\([^)]*\)|[*`]")


@dataclass(frozen=True)
class Entry:
    """A word of the glossary: its forms, the anchor of its row, and its meaning without marks."""

    forms: tuple[str, ...]
    anchor: str
    meaning: str


class Use(NamedTuple):
    """Where an entry is used in a text."""

    begin: int
    end: int
    entry: Entry


class Glossary:
    """The words of the glossary."""

    def __init__(self, text: str) -> None:
        rows = ROW.findall(text.partition("|---|")[2])
        self.entries = tuple(entry_of(words, meaning) for words, meaning in rows)
        self._by_form = {form: each for each in self.entries for form in each.forms}
        longest_first = sorted(self._by_form, key=len, reverse=True)
        self._forms = re.compile(rf"(?<![\w./$*-])({'|'.join(map(_pattern, longest_first))})(?![\w/*-]|\.\w)")

    def uses(self, text: str, *, slanted: bool = False) -> Iterator[Use]:
        """Yield each use in a text, everyday words only where the text is slanted."""
        for found in self._forms.finditer(text):
            form = self._form_of(found[0])
            if form and (slanted or form not in EVERYDAY):
                yield Use(*found.span(), self._by_form[form])

    def entry_of(self, words: str) -> Entry | None:
        """Find the entry of one of its forms."""
        return self._by_form.get(words)

    def _form_of(self, words: str) -> str:
        """Return the form in the glossary of what may be a plural, or begin a sentence."""
        form = " ".join(words.split())
        for each in (form, form[:1].lower() + form[1:]):
            for one in (each, each.removesuffix("s"), each.removesuffix("es"), f"{each.removesuffix('ies')}y"):
                if one in self._by_form:
                    return one
        return ""


def entry_of(words: str, meaning: str) -> Entry:
    """Read a row of the glossary; one row may have several words."""
    forms = tuple(each.strip() for each in words.split(","))
    return Entry(forms, f"word-{slug(forms[0])}", MARKED.sub(r"\1", meaning))


def _pattern(form: str) -> str:
    first, rest = form[0], form[1:]
    begin = f"[{first.upper()}{first}]" if first.islower() else re.escape(first)
    stem = begin + r"\s+".join(map(re.escape, rest.split(" ")))
    return f"{stem.removesuffix('y')}(?:y|ies)" if form.endswith("y") else f"{stem}(?:es|s)?"

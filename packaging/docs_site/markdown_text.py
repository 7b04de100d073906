"""Pieces of Markdown, and where the written pages speak of a thing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docs_site.sidebar import WRITTEN

ROOT = Path(__file__).resolve().parents[2]
HEADING = re.compile(r"(#+) (.*)")
FENCE = re.compile(r" *(```|~~~)")
CODE = re.compile(r"`+([^`]+)`+")
SPECIAL = re.compile(r"([\\*_<>\[\]#|])")
BAR, LITERAL_BAR = re.compile(r"(?<!\\)\|"), r"\\|"
MOST_PLACES = 12


@dataclass(frozen=True)
class Page:
    """A page that is made: its name below the root of the site, and its Markdown."""

    name: str
    text: str


def plain(words: str) -> str:
    """Escape what has a meaning in Markdown; words between backticks stay code."""
    parts = re.split(r"(`[^`]*`)", words)
    escaped = (part if part[:1] == "`" else SPECIAL.sub(r"\\\1", part) for part in parts)
    return "".join(escaped).replace("\n", " ")


def code(words: str) -> str:
    """Return words as code."""
    return f"`{words}`" if words else ""


def sentence(words: str) -> str:
    """Return words as a sentence."""
    return plain(f"{words[:1].upper()}{words[1:].rstrip('.')}.") if words else ""


def block(words: str, language: str = "text") -> str:
    """Return a block of code; no line of it ends the block."""
    fence = "`" * max([3, *(len(each) + 1 for each in re.findall(r"`+", words))])
    return f"{fence}{language}\n{words.rstrip()}\n{fence}\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(BAR.sub(LITERAL_BAR, cell) for cell in line)} |" for line in lines) + "\n"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a list of names and what is so; what is empty is left out."""
    return "".join(f"- **{name}:** {value}\n" for name, value in pairs if value)


def page(name: str, title: str, *parts: str, above: tuple[str, str] | None = None) -> Page:
    """Return a page; one below another begins with the way up, and does not stand in the sidebar."""
    up = f"↑ [{above[0]}]({above[1]})\n" if above else ""
    head = "---\norphan: true\n---\n" if above else ""
    return Page(name, "\n".join(filter(None, (f"{head}# {title}\n", up, *parts))))


# Where the written pages speak of it


@dataclass(frozen=True)
class Section:
    """A part of a written page, from one heading to the next, and what stands in it as code."""

    page: str
    title: str
    heading: str
    anchor: str
    pieces: tuple[str, ...]


def slug(heading: str) -> str:
    """Name a heading as forges do in links."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@cache
def sections() -> tuple[Section, ...]:
    """Return the parts of all written pages."""
    return tuple(each for name in WRITTEN if name != "CHANGELOG" for each in sections_of(name, _text(name)))


def _text(name: str) -> str:
    return (ROOT / f"{name}.md").read_text()


def sections_of(name: str, text: str) -> Iterator[Section]:
    """Yield the parts of one page."""
    title, heading, lines, fenced = "", "", [], False
    for line in text.splitlines():
        fenced ^= bool(FENCE.match(line))
        found = None if fenced else HEADING.match(line)
        if not found:
            lines.append(line)
            continue
        if heading:
            yield _section(name, title, heading, lines)
        title, heading, lines = title or found[2], found[2], []
    yield _section(name, title, heading, lines)


def _section(name: str, title: str, heading: str, lines: Sequence[str]) -> Section:
    blocks: list[str] = []
    flowing: list[str] = []
    fenced = False
    for line in lines:
        fenced ^= (is_fence := bool(FENCE.match(line)))
        (blocks if fenced or is_fence or line.startswith("    ") else flowing).append(line)
    spans = (" ".join(each.split()) for each in CODE.findall("\n".join(flowing)))
    return Section(name, title, heading, slug(heading), (*spans, *(line.strip() for line in blocks)))


def places(speaks: Callable[[str], object], up: str) -> str:
    """Return links to the parts of written pages that have such code: those that have most of it, in their order."""
    counted = [(sum(map(bool, map(speaks, each.pieces))), each) for each in sections()]
    most = sorted((each for each in counted if each[0]), key=lambda each: -each[0])[:MOST_PLACES]
    chosen = [each for each in counted if each in most]
    if not chosen:
        return ""
    return "## Where the pages speak of it\n\n" + "".join(f"- {_link(each, up)}\n" for _, each in chosen)


def _link(each: Section, up: str) -> str:
    heading = "" if each.heading == each.title else f": {plain(each.heading)}"
    return f"[{plain(each.title)}{heading}]({up}{each.page}.md#{each.anchor})"

"""Makes foreign text safe for HTML and CSV, beyond the escapes of Jinja2."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote, urlencode

LONGEST = 500  # characters of a text; one click shows the whole
TIME = re.compile(r"\b(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z)")  # as stored
FORMULA = re.compile(r"[=+\-@\t\r]")


class _Signs(dict[int, str]):
    """The shown form of each character."""

    def __missing__(self, number: int) -> str:
        character = chr(number)
        sign = character if character.isprintable() or character in "\n\t" else f"⟨U+{number:04X}⟩"
        if number < KEPT:
            self[number] = sign
        return sign


KEPT = 0x3000  # above this there are too many characters to cache
_SIGNS = _Signs()


def visible(text: str) -> str:
    """Replace characters that are invisible or change the text around them by their numbers."""
    return text if text.isprintable() else text.translate(_SIGNS)


def finalize(value: Any) -> Any:
    """Make a value of a template visible; leave HTML unchanged."""
    if value is None:
        return ""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def cut(text: str, longest: int = LONGEST) -> str:
    """Shorten a text."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def sentence(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return f"{text[:1].upper()}{text[1:]}"


def by_times(text: str) -> list[str]:
    """Return the parts of a text: each second one is a time, as stored."""
    return TIME.split(text)


def time_of(then: str, now: str) -> str:
    """Return a time, as stored, for people: with the day if that is another one than now."""
    return f"{'' if then[:10] == now[:10] else f'{then[:10]} '}{then[11:19]}"


def address(*parts: str) -> str:
    """Return the path of a page of this site from names, which may have any characters."""
    return "".join(f"/{quote(each, safe='', errors='surrogateescape')}" for each in parts)


def query(**words: str) -> str:
    """Return the query of an address."""
    return urlencode(words, errors="surrogateescape")


def headers_of_csv(name: str, following: str) -> tuple[tuple[str, str], ...]:
    """Return the headers of a table: the name of its file, and the address of the following page if there is one."""
    named = ("Content-Disposition", f'attachment; filename="{name}.csv"')
    return (named, ("Link", f'<{following}>; rel="next"')) if following else (named,)


def as_csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Return a table as CSV; no spreadsheet takes a cell of text for a formula."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(head)
    writer.writerows([_cell(each) for each in row] for row in rows)
    return out.getvalue().encode(errors="backslashreplace")


def _cell(value: object) -> object:
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value

"""How text from anywhere is shown in HTML and in CSV, beyond what Jinja2 escapes by itself."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

LONGEST = 500  # characters of a text; the whole is one click away
FORMULA = re.compile(r"[=+\-@\t\r]")


class _Signs(dict[int, str]):
    """What each character is shown as."""

    def __missing__(self, number: int) -> str:
        character = chr(number)
        sign = character if character.isprintable() or character in "\n\t" else f"⟨U+{number:04X}⟩"
        if number < KEPT:
            self[number] = sign
        return sign


KEPT = 0x3000  # beyond it there are too many characters to remember
_SIGNS = _Signs()


def visible(text: str) -> str:
    """Show by its number what would be invisible, or change how the text around is shown."""
    return text if text.isprintable() else text.translate(_SIGNS)


def finalize(value: Any) -> Any:
    """Make whatever a template shows visible; what is HTML already is left as it is."""
    if value is None:
        return ""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def cut(text: str, longest: int = LONGEST) -> str:
    """Shorten a text."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def as_csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Write a table as CSV; no cell of text can be taken for a formula."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(head)
    writer.writerows([_cell(each) for each in row] for row in rows)
    return out.getvalue().encode(errors="backslashreplace")


def _cell(value: object) -> object:
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value

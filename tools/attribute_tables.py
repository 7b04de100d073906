"""Write what the job types declare into docs/handlers.md, as tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started by `python -P`, which leaves it out

from jim.cli.job_types import attributes, default, meaning
from jim.handlers.base import BY_EVENTS, BY_REQUEST, COMMON, SPLITTING, Attribute
from jim.handlers.shared.sam import SAM
from jim.request import declarations, handler_of, job_types

PAGE = Path(__file__).resolve().parents[1] / "docs/handlers.md"
BEGIN, END = "## Attributes\n\n", "A declaration is one "
GROUPS = {
    "COMMON": (COMMON, "Every job type has `COMMON`:"),
    "BY_EVENTS": (BY_EVENTS, "Job types that split a number of events into local jobs add `BY_EVENTS`:"),
    "BY_REQUEST": (
        {"request_id": BY_REQUEST["request_id"]},
        "`BY_REQUEST` is the same, but `events` are optional if the request has this attribute:",
    ),
    "SPLITTING": (SPLITTING, "Job types whose work a splitter can cut ([splitting.md](splitting.md)) add `SPLITTING`:"),
    "SAM": (SAM, "Job types of D0 and CDF, whose files SAM kept, add `SAM` (`handlers/shared/sam.py`):"),
}


def tables() -> str:
    """Return the part of the page between its heading and what a declaration is."""
    parts = [part for declared, words in GROUPS.values() for part in (words, _table(declared))]
    for name in sorted(job_types()):
        handler = handler_of(name)
        shared = [group for group, (declared, _) in GROUPS.items() if declared.keys() <= declarations(handler).keys()]
        grouped = {each: one for group in shared for each, one in GROUPS[group][0].items()}
        own = {each: one for each, one in handler.attributes.items() if grouped.get(each) != one}
        groups = ", ".join(f"`{group}`" for group in shared[1:])
        words = " and ".join(filter(None, (groups, "these:" if own else "")))
        parts += [f"`{name}` has {words or 'no others.'}", *([_table(own)] if own else [])]
    return "\n\n".join(parts) + "\n\n"


def _table(declared: Mapping[str, Attribute]) -> str:
    return "\n".join(["| attribute | kind | default | |\n|---|---|---|---|", *_rows(declared)])


def _rows(declared: Mapping[str, Attribute]) -> Iterator[str]:
    for one in attributes(declared):
        yield f"| `{one['name']}` | {one['kind']} | {default(one)} | {meaning(one).replace('|', chr(92) + '|')} |"


def main() -> None:
    """Write them where they belong."""
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    PAGE.write_text(before + BEGIN + tables() + END + rest.split(END, 1)[1])


if __name__ == "__main__":
    main()

"""Reads the sections of a site file; each queue may have one of its own."""

# Annotations are evaluated in this module: those of Queue declare its settings.
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from jim import __version__
from jim.errors import BadSite, nearest, shown
from jim.model import BATCH_NAME
from jim.site.rules import NONE, Setting
from jim.site.settings import Declared, settings_of

QUEUES = "queues"
# What follows the words about a setting that is unknown.
OR_NEWER = f"; this is JIM {__version__}: a setting of a newer one has to be taken out"
# The word in a message for each kind of value in a site file.
NAMES = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}
HELD: dict[Any, tuple[type, ...]] = {
    int: (int,),
    int | None: (int,),
    float: (int, float),
    str: (str,),
    bool: (bool,),
    tuple[str, ...]: (list,),
    Mapping[str, list[str]]: (dict,),
    tuple[Mapping[str, Any], ...]: (list,),
}


class Queue(NamedTuple):
    """Section [queues.NAME]: what is different for local jobs in this queue."""

    wall_seconds: Annotated[
        int | None,
        Setting(
            f'default time limit of a local job in this queue, in seconds; "{NONE}": that of the batch system',
            1,
            10**8,
            may_be_none=True,
        ),
    ] = None
    most_memory_mb: Annotated[
        int | None, Setting("most memory that a request for this queue may ask for, in MB", 1, 10**8)
    ] = None


def wrong(declared: Declared, value: Any) -> str:
    """Return what is wrong with the value of a setting; empty if nothing is."""
    held, rule = HELD[declared.kind], declared.rule
    if rule.may_be_none and isinstance(value, str):
        return "" if value == NONE else f'expected {NAMES[held[-1]]} or "{NONE}"'
    fits = isinstance(value, held) and isinstance(value, bool) == (held == (bool,))
    if not fits:
        return f"expected {NAMES[held[-1]]}"
    if rule.least is not None and rule.most is not None and not rule.least <= value <= rule.most:  # refuses nan, too
        return f"must be between {rule.least:,} and {rule.most:,}"
    if rule.words and not re.fullmatch(rule.words, value):
        return f"must match {rule.words}"
    return rule.wrong(value) if rule.wrong else ""


def queues_in(file: Path, text: str, tables: dict[str, Any]) -> Iterator[tuple[str, Queue]]:
    """Return the settings of each queue."""
    for name, table in tables.items():
        section = f"{QUEUES}.{name}"
        if not isinstance(table, dict):
            raise BadSite(f"{file}:{line_of(text, QUEUES, name)}: {section} must be a section: write [{section}]")
        if not re.fullmatch(BATCH_NAME, name, re.ASCII):
            raise BadSite(f"{file}:{line_of(text, section, '')}: no request can name the queue {name!r}")
        yield name, Queue(**dict(checked(file, text, section, table, settings_of(Queue))))


def checked(
    file: Path, text: str, section: str, table: dict[str, Any], known: Mapping[str, Declared]
) -> Iterator[tuple[str, Any]]:
    """Return the settings of a section; refuse anything unknown, and values that are not possible."""
    for key, value in table.items():
        problem = wrong(known[key], value) if key in known else f"unknown key{nearest(key, known)}{OR_NEWER}"
        if problem:
            found = f", found {shown(value)} ({known[key].rule.help})" if key in known else ""
            raise BadSite(f"{file}:{line_of(text, section, key)}: {section}.{key}: {problem}{found}")
        if known[key].rule.may_be_none and value == NONE:
            value = 0
        yield key, tuple(value) if isinstance(value, list) else value


def line_of(text: str, section: str, key: str) -> int:
    """Find the line of a key, or of a section; tomllib does not report it."""
    whole, above = ".".join(filter(None, (section, key))), 1
    for number, is_section, name in _named(text):
        if name == whole or name.startswith(f"{whole}."):
            return number
        if name == section and not is_section:  # its keys stand in one line
            above = number
    return above


def begun_twice(text: str, line: int) -> str:
    """Return what is wrong with a line that repeats a section or a key; empty: it repeats none."""
    first: dict[str, int] = {}
    for number, is_section, name in _named(text):
        before = first.setdefault(name, number)
        if number == line and before < number:
            if is_section:
                return f"section [{name}] begins at line {before}: put its settings there, and remove this line"
            return f"{name} is set in line {before} already: remove one of the two lines"
    return ""


def _named(text: str) -> Iterator[tuple[int, bool, str]]:
    """Yield the lines that begin sections or set keys: the number, whether it begins a section, and the whole name."""
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if head := re.match(r"\s*\[{1,2}([^\[\]]+)\]", line):
            section = _plain(head[1])
            yield number, True, section
        elif key := re.match(r"\s*([\w.\"'-][\w.\"' -]*?)\s*=", line):
            yield number, False, ".".join(filter(None, (section, _plain(key[1]))))


def _plain(name: str) -> str:
    return re.sub(r"[\s\"']", "", name)

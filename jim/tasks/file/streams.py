"""The output pools of a task: the tables `[[task.output]]`, and which files of a piece belong to which pool."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from string import Template
from typing import Any

from jim.errors import JimError
from jim.statusdb.task_spec import OutputSpec
from jim.tasks.file import words
from jim.tasks.file.faults import wrong

ANY = "any"
VARIABLES = ("Task", "Piece", "Group", "Name")  # in `as`
EXPECTED = ("events",)
PROBE = "x"  # a name that stands for any part of a pattern


def read(table: Mapping[str, Any], here: Path) -> OutputSpec:
    """Check the words of an output pool."""
    found = words.read("output", table, words.OUTPUT)
    if found["name"] is None or not words.NAME.fullmatch(found["name"]):
        given = "missing" if found["name"] is None else repr(found["name"])
        raise wrong("output.name", f"{given}: a name has 1 to 48 of a-z, 0-9 and -, and begins with a letter")
    if not found["files"]:
        raise wrong("output.files", "missing: say which files of a piece are meant, for example *.dat")
    if found["store"]:
        found["store"] = str(here.resolve() / found["store"])
    _check_as(found["as"], found["each"])
    for name, value in found["expects"].items():
        if name not in EXPECTED or isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise wrong("output.expects", "expected { events = N }, N a whole number of 1 or more")
    return OutputSpec.from_record(found)


def _check_as(text: str, each: object) -> None:
    """Refuse names that two files could have, and names in other directories."""
    names = Template(text)
    if not names.is_valid() or not set(names.get_identifiers()) <= set(VARIABLES):
        raise wrong("output.as", f"{text!r}: it may have {', '.join(f'${each}' for each in VARIABLES)}")
    missing = {"Piece", *(("Name",) if each != 1 else ())} - set(names.get_identifiers())
    if missing:
        raise wrong("output.as", f"{text!r}: it needs ${min(missing)}, or two files could have the same name")
    if "/" in text or text.startswith("."):
        raise wrong("output.as", f"{text!r}: a name in the directory that store says, and no hidden one")


def refuse_hidden(stream: OutputSpec, sources: Iterable[Mapping[str, Any]]) -> None:
    """Refuse names that begin with an empty group, and then with a dot."""
    has_groups = any(each.get("group") or each.get("task") or each.get("campaigns", 1) != 1 for each in sources)
    if not has_groups and Template(stream.named).safe_substitute(Group="").startswith("."):
        raise wrong("output.as", f"{stream.named!r}: the task has no groups, so these files would be hidden")


def refuse_seconds(streams: Iterable[OutputSpec]) -> None:
    """Refuse two output pools of one name, and two that give their files the same names."""
    names = [each.name for each in streams]
    for each in names:
        if names.count(each) > 1:
            raise wrong("output.name", f"{each!r} is the name of two outputs of this task")
    places = [(each.store, each.named) for each in streams if each.store and "Name" not in _variables(each)]
    for place, name in places:
        if places.count((place, name)) > 1:
            raise wrong("output.as", f"{name!r}: two outputs are stored in {place} under this name")


def _variables(stream: OutputSpec) -> list[str]:
    return Template(stream.named).get_identifiers()


def check(streams: Iterable[OutputSpec], brought: Sequence[str]) -> None:
    """Check whether the job type can bring what output pools ask for."""
    names = ("stdout", "stderr", *brought)
    for each in streams:
        if not any(_may_be(each.files, name) for name in names):
            raise wrong("output.files", f"{each.files!r}: the job type brings only {', '.join(names)}")


def check_store(stream: OutputSpec) -> None:
    """Check the directory in which an output pool is stored."""
    if why := trouble_with(stream.store):
        raise wrong("output.store", why)


def trouble_with(store: str) -> str:
    """Return why nothing can be stored in a directory; empty: it can be."""
    if store and not Path(store).is_dir():
        return f"{store}: no such directory"
    if store and not os.access(store, os.W_OK | os.X_OK):
        return f"{store}: may not be written"
    return ""


def _may_be(pattern: str, brought: str) -> bool:
    """Tell whether files may have names of both patterns, as far as that can be known."""
    return "$" in brought or fnmatchcase(_plain(brought), pattern) or fnmatchcase(_plain(pattern), brought)


def _plain(pattern: str) -> str:
    """Return a name that fits a pattern of usual kind."""
    return re.sub(r"\[[^]]*\]|[*?]", PROBE, pattern)


def files_of(stream: OutputSpec, names: Iterable[str]) -> list[str]:
    """Return the names that belong to an output pool; what only describes them does not."""
    meant = [each for each in names if fnmatchcase(each, stream.files)]
    described = {each + stream.about for each in meant} if stream.about else set()
    return sorted(each for each in meant if each not in described)


def shown(streams: Sequence[OutputSpec], names: Sequence[str]) -> list[str]:
    """Return the names of the files that a check is shown: those of the output pools, or all if there are none."""
    kept = {file for each in streams for file in files_of(each, names)}
    abouts = {file + each.about for each in streams if each.about for file in files_of(each, names)}
    return [each for each in names if each in kept | abouts] if streams else list(names)


def missing(streams: Iterable[OutputSpec], names: Sequence[str]) -> str:
    """Return what a piece has promised and not brought; empty: all is there."""
    for each in streams:
        found = files_of(each, names)
        if each.each != ANY and len(found) != each.each:
            return f"promised {each.each:,} {each.files}, brought {len(found):,}"
        for name in found if each.about else ():
            if name + each.about not in names:
                return f"promised {name}{each.about} about {name}, brought none"
    return ""


def too_many(stream: OutputSpec, name: str, told: Mapping[str, Any]) -> str:
    """Return how a file has more events than its output pool has promised of it; empty: it has not."""
    most, events = stream.expects.get("events"), told.get("events") or 0
    return f"promised at most {most:,} events a file, {name} has {events:,}" if most and events > most else ""


def name_in_store(stream: OutputSpec, task: str, piece: str, group: str, name: str) -> str:
    """Return the name of a file in its store: none that leads into another directory."""
    variables = {"Task": task, "Piece": piece, "Group": group.replace("/", "-"), "Name": name.replace("/", "-")}
    names = Template(stream.named)
    if names.substitute(variables | {"Name": PROBE}).startswith("."):  # a group may be empty, or begin with a dot
        raise JimError(f"its name in the store, {names.substitute(variables)!r}, would be hidden")
    return names.substitute(variables)

"""Prints, for pip, what parts of JIM need: `core`, or the names of extras; in versions and files that are known.

pyproject.toml says what they need, and constraints.txt what that needs in turn, with versions and sums.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
PROJECT, CONSTRAINTS = HERE.parent / "pyproject.toml", HERE / "constraints.txt"


class Pinned(NamedTuple):
    """A library with its version: its lines for pip, and what needs it."""

    lines: str
    needed_by: frozenset[str]


def named(requirement: str) -> str:
    """Return the name of what is required, as all spell it."""
    (name,) = re.findall(r"^[\w.-]+", requirement)
    return re.sub(r"[-_.]+", "-", name).lower()


def required(parts: list[str]) -> set[str]:
    """Return the names of what these parts need by themselves."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    all_parts = {"core": project["dependencies"], **project["optional-dependencies"]}
    return {named(each) for part in parts for each in all_parts[part]}


def pinned() -> dict[str, Pinned]:
    """Return all that constraints.txt has."""
    found = {}
    for lines in re.findall(r"^\w.*(?:\n[ #].*)*\n", CONSTRAINTS.read_text(), re.MULTILINE):
        needs_it = lines.rpartition("# via ")[2].split(", ")
        found[named(lines)] = Pinned(lines, frozenset(named(each) for each in needs_it))
    return found


def requirements(parts: list[str]) -> list[str]:
    """Return, for pip, what these parts need, and all that this needs in turn."""
    known, wanted = pinned(), required(parts)
    if missing := wanted - known.keys():
        sys.exit(f"{', '.join(sorted(missing))}: not in {CONSTRAINTS}, whose head says how to renew it")
    while more := {name for name, each in known.items() if each.needed_by & wanted} - wanted:
        wanted |= more
    return [known[name].lines for name in sorted(wanted)]


if __name__ == "__main__":
    print(*requirements(sys.argv[1:]), sep="", end="")

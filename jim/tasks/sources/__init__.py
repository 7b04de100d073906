"""Sources: what fills an input pool. A look returns what it has found; only the keeper's loop stores it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from jim.statusdb.task_rows import NewItem

ALL = "all"


@dataclass
class Found:
    """What one good look at a source has found."""

    new: list[NewItem] = field(default_factory=list)
    closed: bool = False  # nothing more comes
    device: str = ""  # of a directory
    ended: frozenset[str] = frozenset()  # groups of which nothing more comes; `all` stands for every one
    gone: list[int] = field(default_factory=list)  # items whose files are no longer there
    changed: list[tuple[int, NewItem]] = field(default_factory=list)  # items whose files have changed, and are stable
    changing: list[int] = field(default_factory=list)  # items whose files are changing just now
    empty: list[NewItem] = field(default_factory=list)  # files at rest without content
    back: list[int] = field(default_factory=list)  # items that were noted as removed, and are there as they were
    unstable: Mapping[str, str] = field(default_factory=dict)  # files that are not taken yet, and why
    held: Mapping[str, str] = field(default_factory=dict)  # groups whose end was seen, by a file that keeps them open


def group_of(pattern: str, name: str) -> str | None:
    """Return the group of an item, by the first bracket of a pattern; None: the name does not match."""
    if not pattern:
        return ""
    found = re.search(pattern, name)
    return (found[1] or "") if found else None

"""Groups reasons that differ only in numbers and names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jim.jobs import Alike
from jim.model import State
from jim.reading.view import View

MOST_READ = 10_000  # different reasons
MOST_SHOWN = 20
BADLY = (State.FAILED, State.KILLED, State.NEW)
# Numbers that stay in a reason: exit codes and signals. A path, a quoted word, and any word with a digit is a name.
KEPT = re.compile(r"\b(?:exit|signal|Signal|code) -?\d{1,5}\b")
NUMBER, QUOTED, PATH = r"(?<![\w.,])\d[\d,.]*(?=[\s:;)]|$)", r"'[^']*'|\"[^\"]*\"", r"(?<!\w)/[^\s:,;()]+"
NAME = re.compile(rf"{NUMBER}|{QUOTED}|{PATH}|[^\s:,;()='\"]*\d[^\s:,;()='\"]*")


class Group(NamedTuple):
    """Local jobs that ended for the same reason except for numbers and names."""

    words: str  # * stands for the differences
    times: int
    wordings: int  # number of different reasons


class Groups(NamedTuple):
    """The most frequent groups, and counts of the rest."""

    shown: Sequence[Group]
    others: int  # local jobs of other groups


def alike(words: str, names: Iterable[str] = ()) -> str:
    """Return a reason with * in place of numbers and names."""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\0{'k' * len(kept)}\0"

    text = KEPT.sub(keep, words.replace("\0", "*"))
    for name in names:
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "*", text) if name else text
    text = re.sub(r"\*+", "*", NAME.sub("*", text))
    return re.sub("\0(k+)\0", lambda found: kept[len(found[1]) - 1], text)


def grouped(found: Sequence[Alike], names: Iterable[str] = ()) -> list[Group]:
    """Group reasons, the most frequent first; a single reason keeps its own words."""
    names = tuple(names)
    by_words: dict[tuple[str, str], list[Alike]] = {}
    for each in found:
        by_words.setdefault((each.reason.kind, alike(each.reason.words, names)), []).append(each)
    groups = [
        Group(those[0].reason.words if len(those) == 1 else words, sum(each.times for each in those), len(those))
        for (_, words), those in by_words.items()
    ]
    return sorted(groups, key=lambda group: -group.times)


def failures(view: View, grid: int, owner: str = "") -> Groups:
    """Return the reasons why local jobs of a grid job did not complete."""
    counts = view.store.counts(grid)
    bad = sum(counts.get(state, 0) for state in BADLY)
    found, _ = view.store.seen.reasons(grid, BADLY, MOST_READ) if bad else ([], 0)
    groups = grouped(found, (owner,))[:MOST_SHOWN]
    return Groups(groups, bad - sum(group.times for group in groups))

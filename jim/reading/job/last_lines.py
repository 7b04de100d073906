"""Reads the last line of stderr that failed local jobs share; only for whoever may read logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jim.jobs import GridJob
from jim.reading.groups import Group, alike, failures
from jim.reading.quantities import how_many
from jim.reading.view import View
from jim.statusdb.list_filters import LastLine


def beside(view: View, grid: int, groups: Iterable[Group], owner: str = "") -> dict[str, str]:
    """Return the line that belongs to each group of reasons, by the words of the group; some have none."""
    found: dict[str, list[LastLine]] = {}
    for reason, line in view.store.last_lines.of(grid).items():
        for form in {reason, alike(reason, (owner,))}:
            found.setdefault(form, []).append(line)
    lines = {each.words: found.get(each.words) for each in groups}
    return {group: _words(those) for group, those in lines.items() if those}


def _words(lines: list[LastLine]) -> str:
    largest = max(lines, key=lambda each: each.times)
    times = sum(each.times for each in lines if each.line == largest.line)
    read = sum(each.read for each in lines)
    return largest.line if times == read else f"{largest.line} ({times:,} of {read:,} that were read)"


def sentences(view: View, job: GridJob) -> Iterator[str]:
    """Yield for people, for each group of failed local jobs, the last line of their stderr."""
    groups = failures(view, job.id, job.owner).shown
    lines = beside(view, job.id, groups, job.owner)
    for each in groups:
        if line := lines.get(each.words):
            yield f"{how_many(each.times, 'local job')}, {each.words}: {line}"


def records(view: View, job: GridJob) -> list[dict[str, Any]]:
    """Return the lines by reason, for documents."""
    return [{"reason": reason, **line._asdict()} for reason, line in view.store.last_lines.of(job.id).items()]

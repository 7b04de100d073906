"""Checks that the sources of a task have no directory under two names: each file in it would be two items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jim.statusdb.task_spec import SourceSpec
from jim.tasks.file.faults import Faults, wrong
from jim.tasks.sources.directory import is_deep


def check(sources: Sequence[SourceSpec], faults: Faults) -> None:
    """Find directories that two sources call by different names; one name may be that of several sources."""
    places = [(nth, each) for nth, each in enumerate(sources) if each.kind == "directory"]
    there = [(nth, each) for nth, each in places if Path(each.directory).is_dir()]
    for nth, source in there:
        with faults.gathered(nth):
            for k, other in there:
                name = _name_by(other, source, is_before=k < nth)
                if name not in ("", source.directory):
                    words = f"{source.directory} is {name}, which another source of this task watches: name it once"
                    raise wrong("source.directory", words)


def _name_by(other: SourceSpec, source: SourceSpec, *, is_before: bool) -> str:
    """Return how another source calls the directory of a source; empty: not at all, or the source comes first."""
    place, within = Path(source.directory), Path(other.directory)
    if place.samefile(within):
        return str(within) if is_before else ""
    real, top = place.resolve(), within.resolve()
    return str(within / real.relative_to(top)) if is_deep(other) and real.is_relative_to(top) else ""

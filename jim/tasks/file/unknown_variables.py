"""Warns of texts of a task in which no variable is replaced, because one of them is unknown."""

from __future__ import annotations

from jim.site.file import Site
from jim.statusdb.task_spec import Spec
from jim.tasks.file.requests import sample
from jim.work.pieces import hints_of
from jim.work.splitters import find, is_own

OF_TASK = ("Task", "Piece", "Group", "AttemptsBefore")
WITH_OWN = ("list", "command")  # sources whose items may have variables of their own


def hints(spec: Spec, site: Site) -> list[str]:
    """Tell which texts of a request stay as they are; nothing if a source or the site's own splitter may add names."""
    splitter = spec.split.splitter
    if any(each.kind in WITH_OWN for each in spec.sources):
        return []
    if splitter is not None and is_own(find(splitter, site.site.handlers)):
        return []
    _, request = sample(spec, site, events=spec.events)
    return [f"{spec.name}: request.{each}" for each in hints_of(request, OF_TASK)]

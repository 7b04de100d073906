"""Checks the request of a task, as the grid jobs of its waves will have it."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from jim.doors.intake import hold_files
from jim.handlers.base import Handler
from jim.request import check as checked_request
from jim.request import declarations, handler_of
from jim.site.file import Site
from jim.statusdb.task_spec import Spec
from jim.trust.plugins import foreign
from jim.work.program import require_program
from jim.work.sizing import check_limits

A_FILE = {"lfn": "/checked/before/there/is/any"}


def sample(spec: Spec, site: Site, events: int = 0) -> tuple[Handler, dict[str, Any]]:
    """Check the request of a task, and the files that it sends, as its grid jobs will have it."""
    handler, asked = checked(spec, site, events)
    hold_files(asked, Path(spec.file), site)
    if asked.get("executable"):
        require_program(handler, asked, site)
    return handler, asked


def checked(spec: Spec, site: Site, events: int = 0) -> tuple[Handler, dict[str, Any]]:
    """Check the words of the request of a task; return it without a splitter."""
    asked = deepcopy(dict(spec.request))  # the site's own code gets it, and all rows of a task share its spec
    handler = handler_of(asked.get("job_type"), site.site.handlers)
    declared = declarations(handler)
    if "events" in declared:
        asked["events"] = events
    if "splitter" in declared:  # so that texts may hold variables
        asked |= {"splitter": "FileBased", "input_files": [A_FILE]}
    handler, found = checked_request(asked, site.site.handlers)
    if "splitter" in declared:
        found |= {"splitter": None, "input_files": []}
    with foreign(f"job type {asked['job_type']}"):
        check_limits(handler.resources(found), site)
    return handler, found

"""Writes short forms of a request in full: names instead of tables of files, a number instead of a splitter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jim.errors import BadRequest, shown

MOST_JOBS = 10**9
SOURCES = ("input_files", "dataset", "recovery")  # of the files that a splitter splits


def in_full(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request without short forms."""
    full = dict(attributes)
    files, splitter = full.get("input_files"), full.get("splitter")
    if isinstance(files, list) and str in map(type, files):
        full["input_files"] = [{"lfn": each} if isinstance(each, str) else each for each in files]
    if type(splitter) is int or (isinstance(splitter, str) and splitter.isdecimal() and splitter.isascii()):
        full |= _into(int(splitter), full)
    return full


def _into(count: int, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the splitter that makes so many local jobs: of input files if there are any, otherwise of the request."""
    if not 1 <= count <= MOST_JOBS:
        raise BadRequest(
            f"expected the name of a splitter, or a number of local jobs from 1, found {count}", "splitter"
        )
    if given := request.get("splitter_parameters"):
        raise BadRequest(f"a number as splitter takes no parameters, found {shown(given)}", "splitter_parameters")
    if any(request.get(name) for name in SOURCES):
        return {"splitter": "EvenFiles", "splitter_parameters": {"jobs": count}}
    return {"splitter": "Parametric", "splitter_parameters": {"Parameters": count}}

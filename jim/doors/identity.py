"""Compares requests with the same key: only the parts of a request that decide the work count.

Credentials are never compared. Each door names further parts to leave out: directories that belong to one submission,
and variables that name the submitter and the way to reach him.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jim.errors import BadRequest, shown

NEVER = frozenset({"key", "proxy", "token"})
Apart = Mapping[str, list[str]]  # the `places` and the variables of the `environment` that a door leaves out


def refuse_another(known: Mapping[str, Any], request: Mapping[str, Any], apart: Apart) -> None:
    """Refuse a request whose key belongs to a different request. Requests from an older JIM are not compared."""
    if "apart" not in known:
        return
    asked, was = json.loads(json.dumps(request)), known["request"]
    for name in asked:
        # An attribute that another version of JIM declares, and this version does not, was not asked for.
        if name in NEVER or name not in was or asked[name] == was[name]:
            continue
        if _work(name, asked[name], apart) != _work(name, was[name], known["apart"]):
            raise BadRequest(
                f"{shown(asked[name])}, but grid job {known['id']}, which has the key "
                f"{shown(known['key'])}, was submitted with {shown(was[name])}; use another key for a "
                "different request",
                name,
            )


def _work(name: str, value: Any, apart: Apart) -> Any:
    """Return a value without the parts that its door leaves out."""
    if name == "environment" and isinstance(value, dict):
        value = {each: text for each, text in value.items() if each not in apart.get("environment", ())}
    return _placeless(value, apart.get("places", ()))


def _placeless(value: Any, places: Sequence[str]) -> Any:
    """Return a value in which a mark replaces each of these paths."""
    if isinstance(value, str):
        for place in places:
            value = re.sub(rf"{re.escape(place)}(?![\w.-])", "\0", value) if place != "/" else value
        return value
    if isinstance(value, list):
        return [_placeless(each, places) for each in value]
    if isinstance(value, dict):
        return {each: _placeless(inner, places) for each, inner in value.items()}
    return value

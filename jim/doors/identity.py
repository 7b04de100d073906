"""What of a request decides the work: compared where its key comes again.

No request is compared by its credentials. Each door names what else it leaves out: directories of one submission alone,
and variables that tell who submits and how he is reached.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jim.errors import BadRequest, shown

NEVER = frozenset({"key", "proxy", "token"})
Apart = Mapping[str, list[str]]  # the `places`, and the variables of the `environment`, that a door leaves out


def refuse_another(known: Mapping[str, Any], request: Mapping[str, Any], apart: Apart) -> None:
    """Refuse a request whose key another one has. What was handed in to an older JIM is not compared."""
    if "apart" not in known:
        return
    asked, was = json.loads(json.dumps(request)), known["request"]
    for name in asked:
        # What a JIM of another version declares, and this one does not, was not asked for.
        if name in NEVER or name not in was or asked[name] == was[name]:
            continue
        if _work(name, asked[name], apart) != _work(name, was[name], known["apart"]):
            raise BadRequest(
                f"{shown(asked[name])}, but grid job {known['id']}, which has the key {shown(known['key'])}, "
                f"was handed in with {shown(was[name])}; give what is another request a key of its own",
                name,
            )


def _work(name: str, value: Any, apart: Apart) -> Any:
    """Give a value without what its door leaves out."""
    if name == "environment" and isinstance(value, dict):
        value = {each: text for each, text in value.items() if each not in apart.get("environment", ())}
    return _placeless(value, apart.get("places", ()))


def _placeless(value: Any, places: Sequence[str]) -> Any:
    """Give a value with a mark in the place of each of these paths."""
    if isinstance(value, str):
        for place in places:
            value = re.sub(rf"{re.escape(place)}(?![\w.-])", "\0", value) if place != "/" else value
        return value
    if isinstance(value, list):
        return [_placeless(each, places) for each in value]
    if isinstance(value, dict):
        return {each: _placeless(inner, places) for each, inner in value.items()}
    return value

"""Calls the site's own functions (`site.steps`) with each request, after the lookup and before the split.

Each is a function in the site's directory of handlers, named `package.module.function`. It gets a copy of the request's
attributes. It returns the attributes to continue with, or raises `BadRequest`. The keeper calls the functions in turn,
in a worker thread, and stores the result. After a kill it calls all of them again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jim.errors import BadRequest, JimError
from jim.plugins import foreign, function
from jim.request import check

Request = Mapping[str, Any]
Step = Callable[[dict[str, Any]], Request]
KEPT = ("job_type", "key")  # these identify a request and must not change


def step(name: str, own: str) -> Step:
    """Find a step by its dotted name in the site's directory of handlers."""
    found: Step = function("step of site.steps", name, own)
    return found


def take(request: Request, names: tuple[str, ...], own: str) -> Request:
    """Pass a checked request through these steps; check the result of each step."""
    for name in names:
        one = step(name, own)
        try:
            with foreign(f"step {name} failed"):
                given = one(dict(request))
                if not isinstance(given, Mapping):
                    raise JimError(
                        f"step {name} must return the attributes of the request, but returned {type(given).__name__}"
                    )
                given = dict(given)
            _, checked = check(given, own)
        except BadRequest as error:
            raise BadRequest(f"step {name}: {error}") from error
        for kept in KEPT:
            if checked[kept] != request[kept]:
                raise JimError(f"step {name} must not change the attribute {kept}")
        request = checked
    return request

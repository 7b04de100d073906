"""Steps of a site's own, between looking up what a request leaves open and splitting it.

Each is a function in the site's directory of handlers, named `package.module.function`. It is given the attributes of a
request as a table of its own, and gives those to go on with, or refuses them with a `BadRequest`. The keeper takes them
in turn, in a worker, and stores what they gave; after a kill before that it takes them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jim.errors import BadRequest, JimError
from jim.plugins import foreign, function
from jim.request import check

Request = Mapping[str, Any]
Step = Callable[[dict[str, Any]], Request]
KEPT = ("job_type", "key")  # by which a request is known


def step(name: str, own: str) -> Step:
    """Find a step by its dotted name; it is in the site's directory of handlers."""
    found: Step = function("step of site.steps", name, own)
    return found


def take(request: Request, names: tuple[str, ...], own: str) -> Request:
    """Take steps with a checked request, and check what comes of each."""
    for name in names:
        one = step(name, own)
        try:
            with foreign(f"step {name} failed"):
                given = one(dict(request))
                if not isinstance(given, Mapping):
                    raise JimError(f"step {name} gave {type(given).__name__}, and not the attributes to go on with")
                given = dict(given)
            _, checked = check(given, own)
        except BadRequest as error:
            raise BadRequest(f"step {name}: {error}") from error
        for kept in KEPT:
            if checked[kept] != request[kept]:
                raise JimError(f"step {name} gave another {kept} than it was given")
        request = checked
    return request

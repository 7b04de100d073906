"""Calls the site's own functions (`site.steps`) with each request, after the lookup, and before or after the split.

Each is a function in the site's directory of handlers, named `package.module.function`. It gets a copy of the request's
attributes. It returns the attributes to continue with, or raises `BadRequest`. The keeper calls the functions in turn,
in a worker thread, and stores the result. After a kill it calls all of them again. After the split, each local job is
such a request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jim.errors import BadRequest, JimError
from jim.handlers.base import Handler
from jim.model import Piece
from jim.request import check
from jim.site.rules import SPLIT
from jim.trust.plugins import foreign, function
from jim.work.own_values import checked, may_differ
from jim.work.sizing import is_looked_up

Request = Mapping[str, Any]
Step = Callable[[dict[str, Any]], Request]
KEPT = ("job_type", "key")  # these identify a request and must not change


def step(name: str, own: str) -> Step:
    """Find a step by its dotted name in the site's directory of handlers."""
    found: Step = function("step of site.steps", name, own)
    return found


def placed(names: tuple[str, ...], wanted: str, splitter: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the steps before and after the split. A splitter may ask to run directly after a step (`wanted`)."""
    at = names.index(SPLIT) if SPLIT in names else len(names)
    if wanted:
        if wanted not in names:
            raise BadRequest(
                f"{splitter} is to run after the step {wanted}, which site.steps does not have", "splitter"
            )
        at = names.index(wanted) + 1
    before, later = (tuple(name for name in part if name != SPLIT) for part in (names[:at], names[at:]))
    return before, later


def take(request: Request, names: tuple[str, ...], own: str) -> Request:
    """Pass a checked request through these steps; check the result of each step."""
    for name in names:
        try:
            _, taken = check(_called(name, request, own), own, looked_up=is_looked_up(request))
        except BadRequest as error:
            raise BadRequest(f"step {name}: {error}") from error
        for kept in KEPT:
            if taken[kept] != request[kept]:
                raise JimError(f"step {name} must not change the attribute {kept}")
        if is_looked_up(request) and taken["dataset"] not in (None, request["dataset"]):
            raise JimError(f"step {name} must not change the attribute dataset: its files are input_files already")
        request = taken
    return request


def _called(name: str, request: Request, own: str) -> dict[str, Any]:
    called = step(name, own)
    with foreign(f"step {name} failed"):
        given = called(dict(request))
        if not isinstance(given, Mapping):
            raise JimError(
                f"step {name} must return the attributes of the request, but returned {type(given).__name__}"
            )
        return dict(given)


class OfEach:
    """Passes the pieces of a request through the steps after the split, each as a request of its own."""

    def __init__(self, handler: Handler, request: Request, names: Sequence[str], own: str) -> None:
        self._handler, self._request, self._names, self._own = handler, request, names, own
        self._may_differ = may_differ(handler)
        self._files = {each["lfn"]: each for each in request.get("input_files") or ()}

    def __call__(self, piece: Piece) -> Piece:
        """Return the piece with the values that the steps give it; one that a step refuses can never run."""
        if piece.failure:
            return piece
        given = {**self._request, **piece.attributes}
        given |= {"input_files": [self._files[lfn] for lfn in piece.files]} if self._files else {}
        given |= {"arguments": list(piece.arguments)} if "arguments" in given else {}
        for name in self._names:
            try:
                own = self._checked(name, given, _called(name, given, self._own))
            except BadRequest as error:
                return piece._replace(failure=f"step {name}: {error}")
            given |= own
            arguments = tuple(own.pop("arguments")) if "arguments" in own else piece.arguments
            piece = piece._replace(attributes={**piece.attributes, **own}, arguments=arguments)
        return piece

    def _checked(self, name: str, before: Request, after: Request) -> dict[str, Any]:
        """Return what a step has changed, if local jobs may differ in that."""
        if before.keys() - after.keys():
            raise JimError(f"step {name} must return all attributes, but left out {min(before.keys() - after.keys())}")
        changed = {key: value for key, value in after.items() if value != before.get(key)}
        for key in sorted(changed.keys() - self._may_differ.keys()):
            raise JimError(f"step {name} must not change the attribute {key} after the split")
        return checked(changed, self._may_differ, self._handler, self._request)

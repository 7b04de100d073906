"""Tells what only a keeper can find out as of the time of the last one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jim.reading.before_submission import Wait
from jim.reading.keeper_life import Heart
from jim.reading.view import View

AS_OF = "what has happened since then is known once a keeper is at work"


def as_known(view: View, heart: Heart, waits: Iterable[Wait]) -> Iterator[Wait]:
    """Tell what only a keeper can find out as of the time of the last one, without advice, if none is at work now."""
    at = view.keeper_seen()
    for each in waits:
        if heart.at_work or not at:
            yield each
        else:
            yield Wait(f"as of {at}: {each.what}", AS_OF, each.witness, each.seen or at)

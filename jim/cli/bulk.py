"""A wish for many jobs: a cancel does what it can, and tells by a table and its exit code what it could not do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jim.cli.table import table
from jim.cli.text import say
from jim.errors import BadRequest, JimError, UnknownJob
from jim.model import Verb
from jim.reading.job.effects import Effect, effect
from jim.reading.view import View

Refused = list[tuple[str, JimError]]


def sorted_out(
    view: View, verb: str, targets: Iterable[str], more: Mapping[str, Any]
) -> tuple[list[tuple[str, Effect]], Refused]:
    """Return what a wish would do to each target, and the targets that cannot have it.

    One target that is refused, or any of another verb, refuses the whole: whoever wants to end much wants that first.
    """
    effects, refused = dict[str, Effect](), Refused()
    chosen = list(dict.fromkeys(targets))
    for text in chosen:
        try:
            target = view.absolute(text)
            effects[target] = effect(view, verb, target, more)
        except (BadRequest, UnknownJob) as error:
            if verb != Verb.CANCEL or len(chosen) == 1:
                raise
            refused.append((text, error))
    return list(effects.items()), refused


def say_refused(verb: str, refused: Refused) -> int:
    """Print the targets that could not have their wish; return the exit code of the first reason, 0 without any."""
    if not refused:
        return 0
    say()
    table(("not done", "why"), ((target, error) for target, error in refused))
    say(f"{verb} could not be requested for {len(refused):,} of them")
    return refused[0][1].exit_code

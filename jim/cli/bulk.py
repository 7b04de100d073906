"""A wish for many jobs: it does what it can, and tells by a table and its exit code what it could not do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jim.cli.table import table
from jim.cli.text import say
from jim.errors import BadRequest, JimError, UnknownJob
from jim.reading.job.effects import Effect, effect
from jim.reading.view import View

Refused = list[tuple[str, JimError]]


def sorted_out(
    view: View, verb: str, targets: Iterable[str], more: Mapping[str, Any]
) -> tuple[list[tuple[str, Effect]], Refused]:
    """Return what a wish would do to each target, and the targets that cannot have it; a single one is refused."""
    effects, refused = dict[str, Effect](), Refused()
    chosen = list(dict.fromkeys(targets))
    for text in chosen:
        try:
            target = view.absolute(text)
            effects[target] = effect(view, verb, target, more)
        except (BadRequest, UnknownJob) as error:
            rest, without = _without_refused(view, verb, text, more)
            if rest:
                effects[rest] = effect(view, verb, rest, more)
                refused += without
            elif len(chosen) == 1:
                raise
            else:
                refused.append((text, error))
    return list(effects.items()), refused


def _without_refused(view: View, verb: str, text: str, more: Mapping[str, Any]) -> tuple[str, Refused]:
    """Return those of several slices, such as 12.1-4,7, that can have a wish, and the others."""
    number, _, slices = text.partition(".")
    if "," not in slices:
        return "", []
    kept, refused = sorted_out(view, verb, (f"{number}.{each}" for each in slices.split(",")), more)
    return f"{number}.{','.join(target.partition('.')[2] for target, _ in kept)}" if kept else "", refused


def say_refused(verb: str, refused: Refused) -> int:
    """Print the targets that could not have their wish; return the exit code of the first reason, 0 without any."""
    if not refused:
        return 0
    say()
    table(("not done", "why"), ((target, error) for target, error in refused))
    say(f"{verb} could not be requested for {len(refused):,} of them")
    return refused[0][1].exit_code

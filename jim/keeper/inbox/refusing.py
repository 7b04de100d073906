"""Puts aside what cannot be taken from the inbox, and says so in the log and in the journal of what a wish names."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from jim.doors import inbox
from jim.errors import BadRequest, Fault, JimError, NotStorable, UnknownJob, words_of
from jim.keeper.keeper import Keeper
from jim.model import Witness
from jim.tasks.effects import PREFIX

log = logging.getLogger(__name__)
ODD = (KeyError, TypeError, ValueError, AttributeError, OverflowError, NotStorable)  # what no door writes raises these
LONGEST_VERB = 40


def refuse(keeper: Keeper, path: Path, content: Any, error: JimError) -> Callable[[], None]:
    """Say in a journal why a file of the inbox cannot be taken; return what to do with the file."""
    words, cause = str(error), error.__cause__
    if isinstance(error, Fault) and isinstance(cause, ODD):
        words, error = f"no door writes such a wish ({type(cause).__name__})", JimError(words_of(cause))
    with suppress(UnknownJob, BadRequest, NotStorable, UnicodeError), keeper.store.part():
        _note(keeper, content, words)
    return partial(put_aside, path, error)


def put_aside(path: Path, error: Exception) -> None:
    """Put a damaged file aside. A door has accepted what it said, so nobody may overlook that."""
    place, cause = inbox.put_aside(path), error.__cause__ if isinstance(error, Fault) else None
    said = "inbox: %s cannot be taken: %s; it was put aside as %s"
    log.error(said, path.name, words_of(error), place, exc_info=cause)


def _note(keeper: Keeper, content: Any, words: str) -> None:
    """Write into the journal of what a wish names, if that is known."""
    if not isinstance(content, dict):
        return
    target, what = str(content.get("target", "")), f"{str(content.get('verb', ''))[:LONGEST_VERB]} changes nothing"
    if target.startswith(PREFIX):
        keeper.store.tasks.note(keeper.store.tasks.named(target.removeprefix(PREFIX)).id, what, words)
    elif target:
        grid, _ = inbox.slices_of(target)
        keeper.store.grid_job(grid)
        keeper.store.note(grid, what, Witness.KEEPER, words)

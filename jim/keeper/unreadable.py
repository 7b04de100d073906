"""What the keeper says of a file that it cannot read now."""

from __future__ import annotations

import logging
from pathlib import Path

from jim.doors.untaken_files import remedy
from jim.keeper.keeper import Keeper

log = logging.getLogger(__name__)


def say_that_it_is_left(keeper: Keeper, path: Path, error: Exception) -> None:
    """Log that a file of inbox or spool cannot be read at the moment; once, if only people can change that."""
    key, todo = ("unread", path.name), ""
    if isinstance(error, PermissionError):
        if keeper.workers.tries(key):
            return
        todo = f"; {remedy(path)}"
    if keeper.workers.pace(key):
        sentence = "%s: %r cannot be read now, and will be tried again: %s%s"
        log.warning(sentence, path.parent.name, path.name, error, todo)

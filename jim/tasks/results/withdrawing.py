"""Moves a stored file aside whose piece is done again: it is never deleted, and nothing else is ever moved."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from jim.errors import JimError
from jim.files import sync_directory
from jim.statusdb.task_rows import Output
from jim.statusdb.tasks.outputs import ASIDE
from jim.tasks.damaged import damaged


def withdraw(output: Output) -> None:
    """Give a stored file the name that was recorded for it; a keeper that was killed has perhaps done a part of that.

    Runs in a worker.
    """
    place, target = Path(output.place), Path(output.record[ASIDE])
    if not os.path.lexists(place):
        return  # this was done before, or the file is gone
    if wrong := damaged([output]):
        raise JimError(f"{wrong[0].problem}: somebody has changed it; move it away")
    with suppress(FileExistsError):
        os.link(place, target)
    if not target.samefile(place):
        raise JimError(f"{target} is there already; move it away")
    sync_directory(place.parent)
    place.unlink()
    sync_directory(place.parent)

"""Where this JIM lies, for those who put links to it elsewhere."""

from __future__ import annotations

import stat
from pathlib import Path

from jim.workdir.submission import shell_directory


def _home() -> Path:
    """Return JIM's directory, by a link named `jim` if it leads to this version: such a link survives updates."""
    here = shell_directory().parent
    stays = here.with_name("jim")
    return stays if stays.is_symlink() and stays.samefile(here) else here


HOME = _home()


def closed_place() -> Path | None:
    """Return the directory that keeps accounts from JIM, if there is one."""
    return next((each for each in (HOME, *HOME.parents) if not each.stat().st_mode & stat.S_IXOTH), None)

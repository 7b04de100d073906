"""Where this JIM lies, for those who put links to it elsewhere."""

from __future__ import annotations

import stat
from pathlib import Path

from jim.guide import SHELL


def _home() -> Path:
    """Return the directory of `shell`, by a link named `jim` if it leads to this version: such a link survives updates.

    It is the tree that JIM lies in, or where pip has put only the package, the package.
    """
    package = SHELL.parent
    beside = package.with_name("shell")  # of another project, if it is beside what pip has put there
    here = package.parent if beside.is_dir() and beside.samefile(SHELL) else package
    stays = here.with_name("jim")
    return stays if stays.is_symlink() and stays.samefile(here) else here


HOME = _home()


def closed_place() -> Path | None:
    """Return the directory that keeps accounts from JIM, if there is one."""
    return next((each for each in (HOME, *HOME.parents) if not each.stat().st_mode & stat.S_IXOTH), None)

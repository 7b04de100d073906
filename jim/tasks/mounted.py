"""Tells whether a directory is the one that it was: another one may be the mount point of what is not mounted."""

from __future__ import annotations

import os
from pathlib import Path

from jim.errors import JimError
from jim.statusdb.task_rows import ANOTHER


def identity(place: Path, before: str, what: str = "") -> str:
    """Return the device and inode of a directory; refuse another one than before, if that is known.

    A file system that is mounted again may have another device number, with the same inode. An empty directory on
    another device may still be a mount point.
    """
    there = place.stat()
    now = f"{there.st_dev}:{there.st_ino}"
    if before in ("", now) or (before.rpartition(":")[2] == str(there.st_ino) and not _is_empty(place)):
        return now
    raise JimError(f"{what}{place} {ANOTHER}")


def _is_empty(place: Path) -> bool:
    with os.scandir(place) as entries:
        return next(entries, None) is None

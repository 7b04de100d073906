"""Tells whether a directory is the one that it was: another one may be the mount point of what is not mounted."""

from __future__ import annotations

import os
from pathlib import Path

from jim.errors import JimError
from jim.statusdb.store import Store
from jim.statusdb.tasks.outputs import another_fact


class AnotherDirectory(JimError):
    """A directory is another one than before. A person may accept that."""


def identity(place: Path, before: str, name: str) -> str:
    """Return the device and inode of a directory, called `name`; refuse another one than before, if that is known.

    A file system that is mounted again may have another device number, with the same inode. An empty directory on
    another device may still be a mount point.
    """
    there = place.stat()
    now = f"{there.st_dev}:{there.st_ino}"
    if before in ("", now) or (before.rpartition(":")[2] == str(there.st_ino) and not _is_empty(place)):
        return now
    raise AnotherDirectory(f"{name} is another directory than before: it may not be mounted")


def note(store: Store, task: int, what: str | int, another: bool) -> None:
    """Record whether a store, or the directory of a source, is another one than before."""
    name, value = another_fact(task, what), "1" if another else ""
    if store.fact(name) != value:
        store.set_fact(name, value)


def _is_empty(place: Path) -> bool:
    with os.scandir(place) as entries:
        return next(entries, None) is None

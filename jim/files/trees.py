"""Removes directories, however payloads have nested them.

Python's own way needs a call and a descriptor for each level. A payload can make thousands of levels within a second,
and neither the stack nor the descriptors of a keeper may run out because of that.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

DEEPEST = 50  # levels; what is nested deeper is moved up first
OPENED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(place: Path) -> None:
    """Remove a directory with all that is in it; follow no link. Remove as much as possible, then raise what failed."""
    top = os.open(place, OPENED)
    try:
        while (found := _Emptying(top, str(place))).moved:
            pass
    finally:
        os.close(top)
    if found.failed:
        raise found.failed
    os.rmdir(place)  # noqa: PTH106 - as it was opened


class _Emptying:
    """One pass through a directory."""

    def __init__(self, top: int, way: str) -> None:
        self._top, self.moved = top, 0
        self.failed: OSError | None = None  # the first failure
        self._empty(top, way, 0)

    def _empty(self, directory: int, way: str, depth: int) -> None:
        for name in os.listdir(directory):
            try:
                self._remove(directory, name, f"{way}/{name}", depth)
            except FileNotFoundError:
                continue
            except OSError as error:
                error.filename = f"{way}/{name}"
                self.failed = self.failed or error

    def _remove(self, directory: int, name: str, way: str, depth: int) -> None:
        with suppress(IsADirectoryError):
            os.unlink(name, dir_fd=directory)
            return
        if depth == DEEPEST:
            os.rename(name, f".{os.urandom(8).hex()}", src_dir_fd=directory, dst_dir_fd=self._top)
            self.moved += 1
            return
        inner = os.open(name, OPENED, dir_fd=directory)
        try:
            self._empty(inner, way, depth + 1)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=directory)

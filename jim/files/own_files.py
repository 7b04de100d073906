"""Sees whether JIM's own files are still those that a keeper began with: pip and the like replace them in place.

A keeper loads some of its modules late, and reads scripts and tables. With half of a version, or with parts of two, it
could take what is missing for a fault of a grid job. So it ends before it decides anything.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from jim.errors import Replaced

PACKAGE = Path(__file__).resolve().parents[1]
STILL_SECONDS, LONGEST_SECONDS = 3.0, 120.0  # after the last change; to wait for that
Seen = dict[Path, tuple[int, int, int] | None]


class OwnFiles:
    """JIM's own files, as they were at first."""

    def __init__(self, package: Path | None = None) -> None:
        """See the files of a package; without one, nothing ever changes."""
        self._package = package
        self._folders, self._files = _of(package) if package else ({}, {})

    def require_folders(self) -> None:
        """Raise `Replaced` if a file was replaced: that changes the directory in which the file lies."""
        if _seen(self._folders) != self._folders:
            self.require_files()
            self._folders = _seen(self._folders)  # Python has put what it compiled into some of them

    def require_files(self) -> None:
        """Raise `Replaced` if any file is not the one that was there at first."""
        if changed := [path for path, seen in _seen(self._files).items() if seen != self._files[path]]:
            raise Replaced(f"JIM's own files were replaced, first {changed[0]}: what runs is no version any more")

    def wait(self, pause: Callable[[float], object] = time.sleep) -> None:
        """Wait until nobody changes the files any more."""
        now, still, waited = None, 0.0, 0.0
        while self._package and still < STILL_SECONDS and waited < LONGEST_SECONDS:
            pause(STILL_SECONDS / 6)
            before, now = now, _of(self._package)[1]
            waited += STILL_SECONDS / 6
            still = still + STILL_SECONDS / 6 if now == before else 0.0


def _of(package: Path) -> tuple[Seen, Seen]:
    """Return the directories of a package and the files in them, with the Python that runs it."""
    names_in = {Path(place): names for place, _, names in os.walk(package, followlinks=True)}
    folders = [each for each in names_in if each.name != "__pycache__"]
    files = [folder / name for folder in folders for name in names_in[folder]]
    return _seen(folders), _seen([*files, Path(sys.executable)])


def _seen(paths: Iterable[Path]) -> Seen:
    return {path: _state(path) for path in paths}


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        about = os.stat(path)  # noqa: PTH116 - hundreds of files, and `Path` takes twice as long
    except OSError:
        return None
    return about.st_dev, about.st_ino, about.st_mtime_ns

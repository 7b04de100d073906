"""Opens what a path leads to, component by component: what is looked at is what is used, whatever the path becomes.

`O_PATH` opens a name without reading it, so nothing blocks, and a database's locks stay. Each name is looked up in the
directory that was opened before. So what is found has a place that its directories prove: see `above`.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePath
from typing import NamedTuple

NAME = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
MOST_LINKS = 40  # as the kernel has it
Id = tuple[int, int]  # the device and the inode of a file or directory


class Place(NamedTuple):
    """What a path leads to: descriptors of it and of its directory, and its name there."""

    directory: int
    name: str
    at: int  # -1: there is no such file

    def about(self) -> os.stat_result:
        """Return what the system says of it."""
        return os.fstat(self.at)


def id_of(about: os.stat_result) -> Id:
    """Return what tells a file from all others."""
    return about.st_dev, about.st_ino


@contextmanager
def opened(path: str, *, may_lack: bool = False) -> Iterator[Place]:
    """Open what a path leads to; with `may_lack`, its last name need not exist."""
    with suppress(OSError):
        os.stat(path)  # noqa: PTH116 - mounts what an automounter has not mounted yet: O_PATH would not
    walk = _Walk(path, may_lack=may_lack)
    try:
        yield walk.place()
    except OSError as error:
        if not isinstance(error.filename, str) or not error.filename.startswith("/"):
            error.filename = path
        raise
    finally:
        walk.close()


class _Walk:
    """One way from the root directory to what a path leads to."""

    def __init__(self, path: str, *, may_lack: bool) -> None:
        self._left, self._links, self._may_lack = path.split("/")[::-1], 0, may_lack
        self._root = os.open("/", NAME | os.O_DIRECTORY)
        self._directory, self._at, self._name = os.dup(self._root), os.dup(self._root), "."

    def close(self) -> None:
        for each in {self._root, self._directory, self._at} - {-1}:
            os.close(each)

    def place(self) -> Place:
        while self._left:
            name = self._left.pop()
            if name not in ("", "."):
                self._step(name)
        return Place(self._directory, self._name, self._at)

    def _step(self, name: str) -> None:
        try:
            inner = os.open(name, NAME, dir_fd=self._at)
        except FileNotFoundError:
            if not self._may_lack or any(each not in ("", ".") for each in self._left):
                raise
            self._enter(-1, name)
            return
        if stat.S_ISLNK(os.fstat(inner).st_mode):
            self._follow(inner)
        else:
            self._enter(inner, name)

    def _enter(self, inner: int, name: str) -> None:
        os.close(self._directory)
        self._directory, self._at, self._name = self._at, inner, name

    def _follow(self, link: int) -> None:
        try:
            target = os.readlink("", dir_fd=link)
        finally:
            os.close(link)
        self._links += 1
        if self._links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self._left += target.split("/")[::-1]
        if target.startswith("/"):
            self._enter(os.dup(self._root), ".")


def above(directory: int) -> list[Id]:
    """Return which directories an opened directory lies in, itself first and the root directory last."""
    found, at = [id_of(os.fstat(directory))], os.dup(directory)
    try:
        while True:
            upper = os.open("..", NAME | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = upper
            if (here := id_of(os.fstat(at))) == found[-1]:
                return found
            found.append(here)
    finally:
        os.close(at)


@contextmanager
def directory_below(own: str, path: str, check: Callable[[int], None]) -> Iterator[tuple[int, str]]:
    """Open the directory of a file that is to be written below another directory, and make it there; follow no link.

    `check` is called with each directory before anything is made in it.
    """
    parts = PurePath(os.path.relpath(path, own)).parts
    if not parts or parts[0] == "..":
        raise OSError(errno.EXDEV, f"is not below {own}", path)
    with opened(own) as place:
        at = os.dup(place.at)
    try:
        check(at)
        for name in parts[:-1]:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=at)
            inner = os.open(name, NAME | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = inner
            check(at)
        yield at, parts[-1]
    finally:
        os.close(at)

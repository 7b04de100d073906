"""Tells on which file system a directory is, and makes durable what others have written on one of this kernel's own."""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

# By the magic numbers of statfs: those that this kernel writes to a disk of its own. Network file systems are not among
# them: NFS writes to its server when a file is closed, and a server that is away would hold up the call.
LOCAL = {
    0xEF53: "ext2, ext3, ext4",
    0x58465342: "xfs",
    0x9123683E: "btrfs",
    0x2FC12FC1: "zfs",
    0xF2F52010: "f2fs",
    0xCA451A4E: "bcachefs",
    0x3153464A: "jfs",
    0x794C7630: "overlay",
}
GONE = FileNotFoundError, NotADirectoryError
LONGEST_STATFS = 256  # bytes, more than the structure has on any machine
UNKNOWN = "an unknown file system"  # as in a chroot, whose disk is no mount there
# The first letters of the types of network file systems.
NETWORK = (
    *("nfs", "cifs", "smb", "lustre", "gpfs", "beegfs", "ceph", "afs", "glusterfs", "9p", "fuse."),
    *("panfs", "pvfs2", "orangefs", "wekafs"),
)


def file_system_of(path: Path, mounts: str | None = None) -> str:
    """Return the type of the file system that holds a directory."""
    if mounts is None:
        mounts = Path("/proc/self/mounts").read_text()
    best, kind = "", UNKNOWN
    place = str(path.resolve())
    for line in mounts.splitlines():
        _, where, type_, *_ = line.split(" ")
        if "\\" in where:
            where = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), where)
        if (place == where or place.startswith(where.rstrip("/") + "/")) and len(where) >= len(best):
            best, kind = where, type_
    return kind


def is_network(kind: str) -> bool:
    """Tell whether a file system of this type is a network file system."""
    return kind.startswith(NETWORK)


def sync_local(directories: Iterable[Path]) -> None:
    """Make durable all that was written to the local file systems of these directories: one call for each of them.

    To sync one file after the other takes twenty times as long for many small ones. A payload may remove a directory at
    any moment, or put something else in its place: that holds up no other, and what lies above is of the same disk.
    """
    places: dict[int, list[Path]] = {}
    for each in directories:
        device, place = _nearest(each)
        places.setdefault(device, []).append(place)
    for device, some in places.items():
        above = (each for each in dict.fromkeys(each.parent for each in some) if each.stat().st_dev == device)
        descriptor, opened = _opened(itertools.chain(some, above))
        try:
            if _is_local(descriptor):
                _call("syncfs", descriptor, opened)
        finally:
            os.close(descriptor)


def _nearest(directory: Path) -> tuple[int, Path]:
    """Return a directory with its device; if it is gone, the nearest one above that is there."""
    for each in (directory, *directory.parents[:-1]):
        with suppress(*GONE):
            if stat.S_ISDIR((about := each.lstat()).st_mode):
                return about.st_dev, each
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(directory))


def _opened(directories: Iterable[Path]) -> tuple[int, Path]:
    """Open the first directory that may be listed: a payload may have taken that right from its own."""
    denied: PermissionError | None = None
    for each in directories:
        try:
            return os.open(each, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC), each
        except PermissionError as error:
            denied = denied or error
        except GONE:
            continue
    raise denied or FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def _is_local(descriptor: int) -> bool:
    told = ctypes.create_string_buffer(LONGEST_STATFS)
    _call("fstatfs", descriptor, "", told)
    return ctypes.c_long.from_buffer(told).value & 0xFFFFFFFF in LOCAL


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, descriptor: int, path: object, *more: object) -> None:
    """Call a function of the C library that Python lacks."""
    if getattr(_library(), name)(descriptor, *more):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(path))

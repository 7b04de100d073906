"""A disk whose power can be cut: a file system on a loop device, and the kernel's own call to stop it at once.

What was not made durable by then is gone, as after a power cut of the machine. Only root can do that.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.real import until

SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2  # XFS_IOC_GOINGDOWN and EXT4_IOC_SHUTDOWN are the same call
MEGABYTE = 1024 * 1024
KINDS = {  # how a file system is made, and mounted
    "xfs": (("mkfs.xfs", "-q", "-f"), ""),
    "ext4": (("mkfs.ext4", "-q", "-F"), ""),
    "ext4 noauto_da_alloc": (("mkfs.ext4", "-q", "-F"), "noauto_da_alloc"),
}
SECONDS = 60


class Disk:
    """A mounted file system of its own."""

    def __init__(self, directory: Path, kind: str) -> None:
        make, self.options = KINDS[kind]
        if os.getuid() != 0:
            pytest.skip("only root can mount a disk and cut its power")
        if not shutil.which(make[0], path=f"{os.environ['PATH']}:/usr/sbin:/sbin"):
            pytest.skip(f"this machine has no {make[0]}, which makes the disk")
        self.at_end: Callable[[], None] = lambda: None  # ends what may have files open
        self.image, self.place, self.loop = directory / "image", directory / "disk", ""
        self.place.mkdir()
        with self.image.open("wb") as file:
            file.truncate(400 * MEGABYTE)
        _run(*make, str(self.image))
        try:
            self.loop = self._attached()
            self.mount()
        except subprocess.CalledProcessError as error:
            self.close()
            pytest.skip(f"this machine mounts no loop device: {error.stderr.strip()}")

    def mount(self) -> None:
        _run("mount", *(["-o", self.options] if self.options else []), self.loop, str(self.place))

    def cut(self) -> None:
        """Cut the power: all later writes fail, and what was not durable is lost."""
        descriptor = os.open(self.place, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(descriptor)

    def come_back(self) -> None:
        """Start the machine again; nobody may have a file of the disk open."""
        self._unmount()
        # Another device: who copies the mount into a namespace of his own keeps the dead file system alive.
        _run("losetup", "--detach", self.loop)
        self.loop = self._attached()
        self.mount()

    def _attached(self) -> str:
        return _run("losetup", "--find", "--show", str(self.image)).strip()

    def _unmount(self) -> None:
        """Unmount the disk, once what is ending has closed its files."""
        until(lambda: _unmounts(self.place), "the disk is free")

    def close(self) -> None:
        self.at_end()
        if os.path.ismount(self.place):
            self._unmount()
        if self.loop:
            _run("losetup", "--detach", self.loop)
        self.image.unlink()


def _unmounts(place: Path) -> bool:
    try:
        _run("umount", str(place))
    except subprocess.CalledProcessError:
        return False
    return True


def _run(*words: str) -> str:
    path = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    done = subprocess.run(words, env=path, capture_output=True, text=True, timeout=SECONDS, check=True)
    return done.stdout

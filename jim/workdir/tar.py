"""Writing a tar from front to back; nothing of it is kept in memory, however many members it has."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from typing import IO


class Tar:
    """A tar while it is written. `end` makes it whole."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out

    def add(self, name: str, size: int, content: Iterable[bytes]) -> None:
        """Add a file; the content must have the size that is said before."""
        member = tarfile.TarInfo(name)
        member.size, member.mode = size, 0o600
        self._out.write(member.tobuf(tarfile.PAX_FORMAT))
        for block in content:
            self._out.write(block)
        self._fill(tarfile.BLOCKSIZE)

    def end(self) -> None:
        """Write what marks the end: two empty blocks, and a last record that is full."""
        self._out.write(bytes(2 * tarfile.BLOCKSIZE))
        self._fill(tarfile.RECORDSIZE)

    def _fill(self, unit: int) -> None:
        self._out.write(bytes(-self._out.tell() % unit))

"""Writes a tar from front to back; memory does not grow with the number of members."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from typing import IO


class Tar:
    """A tar that is being written; `end` completes it."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out

    def add(self, name: str, size: int, content: Iterable[bytes]) -> None:
        """Add a file; the content must have the given size."""
        member = tarfile.TarInfo(name)
        member.size, member.mode = size, 0o600
        self._out.write(member.tobuf(tarfile.PAX_FORMAT))
        for block in content:
            self._out.write(block)
        self._fill(tarfile.BLOCKSIZE)

    def end(self) -> None:
        """Write the end: two empty blocks, filled to a whole record."""
        self._out.write(bytes(2 * tarfile.BLOCKSIZE))
        self._fill(tarfile.RECORDSIZE)

    def _fill(self, unit: int) -> None:
        self._out.write(bytes(-self._out.tell() % unit))

"""Reads outputs of local jobs, and refuses what differs from their exit records."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from jim.errors import JimError
from jim.evidence.exit_record import Output
from jim.files import open_regular, patiently

BLOCK = 1024 * 1024


def verified(directory: Path, output: Output) -> Iterator[bytes]:
    """Yield an output's content, and raise, at the end at the latest, if it differs from the exit record."""
    descriptor = patiently(partial(open_inside, directory, output.name))
    try:  # os.read: a file object for each of very many small files costs more than to read them
        size = os.fstat(descriptor).st_size
        if size != output.size:
            raise JimError(f"{size:,} bytes instead of {output.size:,}")
        digest = hashlib.sha256()
        while size and (block := patiently(partial(os.read, descriptor, min(BLOCK, size)))):
            digest.update(block)
            size -= len(block)
            yield block
        if digest.hexdigest() != output.sha256:
            raise JimError("other content than when the payload ended")
    finally:
        os.close(descriptor)


def is_executable(directory: Path, output: Output) -> bool:
    """Tell whether the payload has left an output as a program; who makes a copy may let it be one, too."""
    with suppress(OSError):  # who reads the content tells why it cannot be read
        return bool(patiently((directory / output.name).lstat).st_mode & 0o100)
    return False


def open_inside(directory: Path, name: str) -> int:
    """Open an output; refuse any link in its path, which could lead to a file elsewhere."""
    place = directory
    for part in name.split("/"):
        place = place / part
        if place.is_symlink():
            raise JimError("is or lies behind a link")
    return open_regular(place)

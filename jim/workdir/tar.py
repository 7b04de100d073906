"""Writes a tar from front to back, and reads its headers; memory does not grow with the number of members."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterable, Iterator
from typing import IO, cast

from jim.errors import JimError

_EXTENSIONS = re.compile(r"(?:\.[A-Za-z][A-Za-z0-9]{0,7})*$")  # .root, .tar.gz, but neither .00 nor a version
_MODE, _EXECUTABLE = 0o600, 0o700
_LONGEST_HEADER = 1024 * 1024  # bytes; it has the name of the member
_LONGEST, _LARGEST = 100, 8**11 - 1  # what fits into the plain header: bytes of the name, bytes of the content


class Tar:
    """A tar that is being written; `end` completes it."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out

    def add(self, name: str, size: int, content: Iterable[bytes], *, executable: bool = False) -> None:
        """Add a file; the content must have the given size. If the content raises an error, nothing is added."""
        begin = self._out.tell()
        try:
            self._out.write(_member(name, size, _EXECUTABLE) if executable else _header(name, size))
            for block in content:
                self._out.write(block)
            self._fill(tarfile.BLOCKSIZE)
        except (JimError, OSError):
            self._out.seek(begin)
            self._out.truncate()
            raise

    def end(self) -> None:
        """Write the end: two empty blocks, filled to a whole record."""
        self._out.write(bytes(2 * tarfile.BLOCKSIZE))
        self._fill(tarfile.RECORDSIZE)

    def _fill(self, unit: int) -> None:
        self._out.write(bytes(-self._out.tell() % unit))


def headers(file: IO[bytes]) -> Iterator[tuple[tarfile.TarInfo, int]]:
    """Yield the members of a tar from where the file stands, each with the place of the next one.

    A payload may have put anything in the place of JIM's tar. What is no tar raises a `TarError`, and costs no memory.
    """
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", _Headers(file)), mode="r:") as tar:
            before = -1
            while member := tar.next():
                if tar.offset <= before:
                    raise tarfile.ReadError("a member of a size below zero")
                before = tar.offset
                tar.members.clear()  # type: ignore[attr-defined]  # else they fill the memory
                yield member, tar.offset
    except (ValueError, ArithmeticError, LookupError, RecursionError) as error:  # as tarfile makes of odd headers
        raise tarfile.ReadError(f"an odd header: {error}") from error


class _Headers:
    """A tar for tarfile, which reads a header at once, however long the header says that it is."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.seek, self.tell = file, file.seek, file.tell

    def read(self, size: int) -> bytes:
        """Read a part of a header; refuse one that JIM does not write."""
        if not 0 <= size <= _LONGEST_HEADER:
            raise tarfile.ReadError(f"a header of {size:,} bytes")
        return self._file.read(size)


def _member(name: str, size: int, mode: int = _MODE) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, mode
    return member.tobuf(tarfile.PAX_FORMAT)


_PLAIN = _member("", 0)
_SIZE, _SUM = slice(124, 136), slice(148, 156)
_REST = sum(_PLAIN) - sum(_PLAIN[_SIZE]) - sum(_PLAIN[_SUM]) + 8 * ord(" ")  # the sum counts its own place as spaces


def _header(name: str, size: int) -> bytes:
    """Return the header of a member; most are plain, and tarfile takes ten times as long to make these."""
    if len(name) > _LONGEST or size > _LARGEST or not name.isascii() or name.endswith("/"):
        return _member(name, size)
    own, size_field = name.encode(), b"%011o\0" % size
    total = b"%06o\0 " % (_REST + sum(own) + sum(size_field))
    return (
        own.ljust(_LONGEST, b"\0")
        + _PLAIN[_LONGEST : _SIZE.start]
        + size_field
        + _PLAIN[136:148]
        + total
        + _PLAIN[156:]
    )


# The names of outputs


def stemmed(name: str, stem: str) -> str:
    """Return the name of an output with a stem, which stands before the extensions: hist.root, hist_STEM.root."""
    head, extensions = _parted(name)
    return f"{head}_{stem}{extensions}"


def may_be(member: str, name: str, n: int) -> bool:
    """Tell whether a member of the tar may be this output of local job `n`, with a stem."""
    head, extensions = map(re.escape, _parted(name))
    return bool(re.fullmatch(rf"{head}_[\w+-]+_0*{n}{extensions}", member, re.ASCII))


def _parted(name: str) -> tuple[str, str]:
    begin = name.rfind("/") + 2  # the first character is none of an extension: .bashrc
    found = _EXTENSIONS.search(name, begin)
    at = found.start() if found else len(name)
    return name[:at], name[at:]

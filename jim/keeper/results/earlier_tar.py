"""The tar of a grid job that has finished before: it may have outputs that are gone where their attempts left them."""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple

from jim.errors import JimError
from jim.evidence.exit_record import Output
from jim.files import open_regular, patiently
from jim.workdir.tar import Tar, headers
from jim.workdir.verified import BLOCK


class _Member(NamedTuple):
    """A file in the tar: there may be very many."""

    at: int
    size: int
    executable: bool


class EarlierTar:
    """The outputs in an earlier tar; it is read only where one of them is needed."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._file: IO[bytes] | None = None
        self._members: dict[str, _Member] | None = None

    def __enter__(self) -> EarlierTar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            self._file.close()

    def add(self, tar: Tar, name: str, output: Output) -> bool:
        """Add an output of the earlier tar, under the same name, if it is what the exit record says; tell whether."""
        if member := self._member(name, output):
            with suppress(_Differs):
                tar.add(name, output.size, self._content(member, output), executable=member.executable)
                return True
        return False

    def has(self, name: str, output: Output) -> bool:
        """Tell whether the earlier tar has an output as the exit record says."""
        if member := self._member(name, output):
            with suppress(_Differs):
                deque(self._content(member, output), maxlen=0)
                return True
        return False

    def _member(self, name: str, output: Output) -> _Member | None:
        if self._members is None:
            self._members = self._read()
        member = self._members.get(name)
        return member if member and member.size == output.size else None

    def _content(self, member: _Member, output: Output) -> Iterator[bytes]:
        return _verified(self._file.fileno(), member.at, output) if self._file else iter(())

    def _read(self) -> dict[str, _Member]:
        found: dict[str, _Member] = {}
        with suppress(JimError, FileNotFoundError, tarfile.TarError):
            self._file = os.fdopen(open_regular(self._place), "rb")
            for each, _ in headers(self._file):
                if each.isreg():
                    found[each.name] = _Member(each.offset_data, each.size, bool(each.mode & 0o100))
            return found
        return {}


class _Differs(JimError):
    """A member is not what an exit record says."""


def _verified(descriptor: int, at: int, output: Output) -> Iterator[bytes]:
    digest, end = hashlib.sha256(), at + output.size
    while at < end:
        try:
            block = patiently(partial(os.pread, descriptor, min(BLOCK, end - at), at))
        except OSError as error:
            raise _Differs(str(error)) from error
        if not block:
            raise _Differs("the earlier tar is not whole")
        digest.update(block)
        at += len(block)
        yield block
    if digest.hexdigest() != output.sha256:
        raise _Differs("another content")

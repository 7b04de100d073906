"""Standard output, whose failures are told from those of all other files."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jim.errors import Unheard

if TYPE_CHECKING:
    from typing_extensions import Buffer


class _Stdout(io.FileIO):
    """The descriptor, as Python writes it."""

    def write(self, block: Buffer, /) -> int:
        """Write, or say that nobody hears it."""
        try:
            return super().write(block)
        except BrokenPipeError:
            raise
        except OSError as error:
            reason = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise Unheard(f"stdout cannot be written: {reason}") from error


def prepare() -> None:
    """See that there is a stdout and a stderr to write to: where they are closed, files would get their numbers."""
    for number, name, mode in ((1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:  # writing the one fails then, the other is written in vain
            os.dup2(os.open(os.devnull, mode), number)
            setattr(sys, name, open(number, "w", errors="backslashreplace", closefd=False))  # noqa: SIM115
            setattr(sys, f"__{name}__", getattr(sys, name))
    old = sys.__stdout__
    if old is None or sys.stdout is not old:  # somebody listens in another way
        return
    raw = io.BufferedWriter(_Stdout(1, "w", closefd=False))
    sys.stdout = io.TextIOWrapper(raw, old.encoding, old.errors, line_buffering=old.line_buffering)


@contextmanager
def or_else(words: str) -> Iterator[None]:
    """See that what is said in here is heard; if not, `words` tell on stderr what was done."""
    try:
        yield
        sys.stdout.flush()
    except Unheard as error:
        raise Unheard(f"{error}; {words}") from error


@contextmanager
def last_words() -> Iterator[None]:
    """Say what went wrong; where that cannot be said either, the exit code remains."""
    try:
        yield
    except OSError:
        _give_up(2)
    try:
        sys.stdout.flush()
    except (OSError, Unheard):
        give_up()


def give_up() -> None:
    """Write no more: Python must not try again at its exit."""
    _give_up(sys.stdout.fileno())


def _give_up(number: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)

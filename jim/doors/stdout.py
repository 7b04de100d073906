"""Standard output. Its write errors are distinguished from those of all other files."""

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
    """The file descriptor, as Python writes to it."""

    def write(self, block: Buffer, /) -> int:
        """Write, or raise `Unheard`."""
        try:
            return super().write(block)
        except BrokenPipeError:
            raise
        except OSError as error:
            reason = "stdout is closed" if error.errno == errno.EBADF else error.strerror
            raise Unheard(f"cannot write to stdout: {reason}") from error


def prepare() -> None:
    """Open stdout and stderr if they are closed: otherwise the next opened file would get their number."""
    for number, name, mode in ((1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:  # writes to this stdout fail; writes to this stderr have no effect
            os.dup2(os.open(os.devnull, mode), number)
            setattr(sys, name, open(number, "w", errors="backslashreplace", closefd=False))  # noqa: SIM115
            setattr(sys, f"__{name}__", getattr(sys, name))
    old = sys.__stdout__
    if old is None or sys.stdout is not old:  # the caller reads the result in another way
        return
    raw = io.BufferedWriter(_Stdout(1, "w", closefd=False))
    sys.stdout = io.TextIOWrapper(raw, old.encoding, old.errors, line_buffering=old.line_buffering)


@contextmanager
def or_else(words: str) -> Iterator[None]:
    """Ensure that output inside is written; otherwise print `words`, which say what was done, on stderr."""
    try:
        yield
        sys.stdout.flush()
    except Unheard as error:
        raise Unheard(f"{error}; {words}") from error


@contextmanager
def last_words() -> Iterator[None]:
    """Print an error on stderr; if that fails, only the exit code is left."""
    try:
        yield
    except OSError:
        _give_up(2)
    try:
        sys.stdout.flush()
    except (OSError, Unheard):
        give_up()


def give_up() -> None:
    """Close stdout: Python must not write again when it exits."""
    _give_up(sys.stdout.fileno())


def _give_up(number: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)

"""What every command does around its own work: errors become exit codes and words, and stdout is watched."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from jim.errors import JimError, Unheard, words_of

if TYPE_CHECKING:
    from typing_extensions import Buffer


# The one place where errors become exit codes

UNEXPECTED, INTERRUPTED, NOT_READ = 70, 130, 141  # a fault of JIM's own; Ctrl-C; a closed pipe


def serve(action: Callable[[], int], complain: Callable[[str, Exception], None]) -> int:
    """Run an action for a gatekeeper or a person; report an error through `complain` and return its exit code."""
    prepare()
    try:
        code = action()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as interrupt:
        if words := str(interrupt):
            with last_words():
                complain(words, JimError(words))
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has closed the pipe
        give_up()
        return NOT_READ
    except Exception as error:  # noqa: BLE001 - a gatekeeper must get an answer after any error
        error = _explained(error)
        with last_words():
            complain(words_of(error), error)
        return error.exit_code if isinstance(error, JimError) else 1 if isinstance(error, OSError) else UNEXPECTED


@contextmanager
def taken_already(warn: Callable[[str], None]) -> Iterator[None]:
    """Warn of what fails inside: a request that is durable by now must not look refused. Not so if stdout fails."""
    try:
        yield
    except (Unheard, BrokenPipeError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the work would be handed in once more
        with suppress(OSError, ValueError):  # stderr cannot be written, too
            warn(words_of(error))


WHAT_TO_DO = {
    errno.ENOSPC: "free space or inodes on its disk, and try again",
    errno.EDQUOT: "make room below the quota, and try again",
    errno.EACCES: "allow this account to use it",
    errno.EROFS: "its disk is read-only at present",
}


def _explained(error: Exception) -> Exception:
    """Return the error with advice added, if it is about a file, the current directory or a library."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        todo = WHAT_TO_DO.get(error.errno or 0, "`jim site check` may tell more")
        return JimError(f"{os.fsdecode(error.filename)}: {error.strerror}; {todo}")
    if isinstance(error, FileNotFoundError) and _is_lost():
        return JimError("the current directory is gone; `cd` to another one")
    if not isinstance(error, ModuleNotFoundError) or (error.name or "jim").partition(".")[0] == "jim":
        return error
    from jim.site.libraries import lacking

    return lacking([str(error.name)])


def _is_lost() -> bool:
    """Tell whether somebody has removed the current directory."""
    try:
        os.getcwd()  # noqa: PTH109 - only whether it fails counts
    except OSError:
        return True
    return False


def leave(code: int) -> NoReturn:
    """End at once: Python's own clean-up takes longer than a door's work."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # what could not be written was told by `serve`
            stream.flush()
    os._exit(code)


# What is durable must not look refused


def taken_in(number: int) -> str:
    """Return the words for a request that was taken in but whose id cannot be printed."""
    return f"the request was taken in as grid job {number}; if handed in again with the same key, it gets the same id"


class Interrupted(KeyboardInterrupt):
    """Somebody pressed Ctrl-C while a request became durable: its id must be printed all the same."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def uninterrupted() -> Iterator[list[int]]:
    """Collect what Ctrl-C sends meanwhile."""
    interrupts: list[int] = []
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored, or not the main thread's matter
        yield interrupts
        return
    signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# Standard output: its write errors are told apart from those of all other files


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


def hear_of_children() -> None:
    """Undo what whoever has started this process may have passed on to it: signals that are ignored or blocked.

    If CHLD is ignored, as many a daemon in Perl does, each command seems to exit 0: a listing that failed looks like
    one of an empty queue.
    """
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def prepare() -> None:
    """Open stdout and stderr if they are closed: otherwise the next opened file would get their number."""
    hear_of_children()
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

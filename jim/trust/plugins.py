"""Loads functions of sites and job types by name, and turns their exceptions into JIM's errors."""

from __future__ import annotations

import importlib
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from jim.errors import JimError
from jim.trust import use


@cache
def function(what: str, name: str, own: str) -> Any:
    """Find a function by its dotted name; `what` describes it in errors, `own` is the site's directory."""
    module, _, called = name.rpartition(".")
    use(own)
    with foreign(f"cannot load {what} {name!r}"):
        return getattr(importlib.import_module(module), called)


@contextmanager
def foreign(what: str) -> Iterator[None]:
    """Turn any exception in the code of a site or a job type into a `JimError`: it must not end a keeper.

    An `OSError` passes unchanged, because its cause may disappear.
    """
    try:
        yield
    except (JimError, OSError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit, and exceptions that a library keeps apart, as asyncio does
        raise JimError(f"{what}: {type(error).__name__}: {error}{_place(error)}") from error


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise a `TimeoutError` in code that takes longer: it must not stop the loop of a keeper.

    Only a main thread can be interrupted; in others, the code has all the time that it takes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> NoReturn:
        raise TimeoutError(f"it took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)  # again and again: the code may pass over an exception
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _place(error: BaseException) -> str:
    """Return the last line of the traceback that belongs neither to JIM nor to Python."""
    if isinstance(error, SyntaxError):  # its words name the place
        return ""
    place, trace = "", error.__traceback__
    while trace:
        file = trace.tb_frame.f_code.co_filename
        if file not in (__file__, importlib.__file__) and not file.startswith("<"):
            place = f" ({Path(file).name}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return place

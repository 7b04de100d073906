"""What others have written: functions that a site or a job type names, and what goes wrong in them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from jim.errors import JimError


@cache
def function(what: str, name: str, own: str) -> Any:
    """Find a function by its dotted name; `what` it is, and the site's `own` directory, are the caller's to know."""
    module, _, called = name.rpartition(".")
    if own and own not in sys.path:
        sys.path.append(own)
    with foreign(f"{what} {name!r} cannot be loaded"):
        return getattr(importlib.import_module(module), called)


@contextmanager
def foreign(what: str) -> Iterator[None]:
    """Make a `JimError` of whatever code of a site or a job type raises: it must not end a keeper, which serves others.

    An `OSError` is let through, for it may be a matter of time.
    """
    try:
        yield
    except (JimError, OSError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit, and whatever a library keeps apart, as asyncio does
        raise JimError(f"{what}: {type(error).__name__}: {error}{_place(error)}") from error


def _place(error: BaseException) -> str:
    """Name the last line that is neither ours nor Python's own."""
    place, trace = "", error.__traceback__
    while trace:
        file = trace.tb_frame.f_code.co_filename
        if file != __file__ and not file.startswith("<"):
            place = f" ({Path(file).name}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return place

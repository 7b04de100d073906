"""Functions that a site or a job type names: dotted names, of the site's own directory or of what is installed."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from typing import Any

from jim.errors import JimError


@cache
def function(what: str, name: str, own: str) -> Any:
    """Find a function by its dotted name; `what` it is, and the site's `own` directory, are the caller's to know."""
    module, _, called = name.rpartition(".")
    if own and own not in sys.path:
        sys.path.append(own)
    try:
        return getattr(importlib.import_module(module), called)
    except (ImportError, AttributeError, SyntaxError, ValueError) as error:
        raise JimError(f"{what} {name!r} cannot be loaded: {error}") from error

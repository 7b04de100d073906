"""The libraries that the Python which runs JIM must find, and how to install them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from jim.errors import BadSite

LIBRARIES = ("lxml", "psutil", "tenacity")  # every keeper needs them


def require_libraries() -> None:
    """Refuse to continue without a library that a keeper needs."""
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        raise lacking(missing)


def lacking(names: Sequence[str]) -> BadSite:
    """Return an error that names missing libraries and how to install them."""
    return BadSite(f"{', '.join(names)} not found by {sys.executable}, which runs JIM: {how_to_install(names)}")


def how_to_install(names: Sequence[str]) -> str:
    """Return the command that installs libraries for the Python that runs JIM."""
    if sys.prefix != sys.base_prefix:
        return f"{sys.prefix}/bin/pip install {' '.join(names)}"
    all_ = " ".join(dict.fromkeys((*LIBRARIES, "rich", *names)))
    own = Path(__file__).resolve().parents[2] / ".venv"  # JIM needs its own environment, as the operators' guide says
    return f"python3 -m venv {own} && {own}/bin/pip install {all_}"

"""Starting a keeper: from a door that must return at once, or as the keeper itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from jim.clock import Clock
from jim.errors import BadSite
from jim.site.file import SITE_VARIABLE, STATE_VARIABLE
from jim.site.lock import heart_beats, runs

BELL = "bell"  # a keeper hears it: jim/keeper/bell.py
LIBRARIES = ("lxml", "psutil", "tenacity")  # no keeper can do without


def require_keeper(state: Path) -> None:
    """See that a keeper runs here, or that one could; or say what it lacks. The lock is left to those who start one."""
    if heart_beats(state, Clock()):
        return
    require_libraries()


def require_libraries() -> None:
    """Refuse to go on without a library that a keeper needs."""
    from importlib.util import find_spec

    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        raise lacking(missing)


def lacking(names: Sequence[str]) -> BadSite:
    """Say which libraries are not there, and how to install them."""
    return BadSite(f"{', '.join(names)} not found by {sys.executable}, which runs JIM: {how_to_install(names)}")


def how_to_install(names: Sequence[str]) -> str:
    """Say how libraries come to the Python that runs JIM."""
    if sys.prefix != sys.base_prefix:
        return f"{sys.prefix}/bin/pip install {' '.join(names)}"
    own = Path(__file__).resolve().parents[2] / ".venv"  # a Python of JIM's own is to be made, as operators are told
    return f"python3 -m venv {own} && {own}/bin/pip install lxml psutil tenacity rich"


def wake(state: Path) -> None:
    """Start a keeper, or call the one that runs. Its lock decides: the one that comes second ends at once."""
    if runs(state):
        ring(state)
    else:
        start_keeper(state)


def ring(state: Path) -> None:
    """Tell a keeper to look into the inbox now. If it does not hear that, it looks by itself a moment later."""
    from _socket import AF_UNIX, SOCK_CLOEXEC, SOCK_DGRAM, SOCK_NONBLOCK, socket  # without what Python adds to that

    with suppress(OSError):
        place = os.open(state, os.O_PATH | os.O_DIRECTORY)
        caller = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC)
        try:
            caller.sendto(b"", f"/proc/self/fd/{place}/{BELL}")  # a socket's own name must be short
        finally:
            caller.close()
            os.close(place)


def start_keeper(state: Path) -> None:
    """Start a keeper process that shares nothing with us: not the session, the descriptors, nor the environment."""
    from jim.command import scrubbed_environment, spawn

    place = str(state.resolve())  # one directory must have one name: it is a part of the work directory's
    named = os.environ.get(SITE_VARIABLE)
    site = {SITE_VARIABLE: str(Path(named).absolute())} if named else {}
    environment = scrubbed_environment({STATE_VARIABLE: place} | site)
    spawn((sys.executable, "-P", "-s", "-m", "jim.run_grid_job", "keeper", place), env=environment)

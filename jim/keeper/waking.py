"""Starts or calls a keeper, from a door that must return at once."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from jim.clock import Clock
from jim.site.file import SITE_VARIABLE, STATE_VARIABLE
from jim.site.lock import heart_beats, runs
from jim.site.whose import require_own

BELL = "bell"  # the keeper's end is in jim/keeper/bell.py


def require_keeper(state: Path) -> None:
    """Refuse if no keeper runs and none could start, and name what is missing. Does not take the lock."""
    if heart_beats(state, Clock()):
        return
    from jim.site.libraries import require_libraries  # a door that finds a keeper needs none of this

    require_libraries()


def wake(state: Path) -> None:
    """Start a keeper, or call the running one. The lock decides: a second keeper ends at once."""
    require_own(state)  # to look for a keeper may make the lock
    if runs(state):
        ring(state)
    else:
        start_keeper(state)


def ring(state: Path) -> None:
    """Call the keeper to look into the inbox now. If the call is lost, the keeper looks a moment later."""
    from _socket import AF_UNIX, SOCK_CLOEXEC, SOCK_DGRAM, SOCK_NONBLOCK, socket  # lighter than `socket`

    with suppress(OSError):
        place = os.open(state, os.O_PATH | os.O_DIRECTORY)
        caller = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC)
        try:
            caller.sendto(b"", f"/proc/self/fd/{place}/{BELL}")  # the path of a socket must be short
        finally:
            caller.close()
            os.close(place)


def start_keeper(state: Path) -> None:
    """Start a keeper process that shares no session, descriptors or environment with this process."""
    from jim.command import scrubbed_environment, spawn

    require_own(state)
    place = str(state.resolve())  # one directory must have one name, which is part of the work directory's name
    named = os.environ.get(SITE_VARIABLE)
    site = {SITE_VARIABLE: str(Path(named).absolute())} if named else {}
    environment = scrubbed_environment({STATE_VARIABLE: place} | site)
    spawn((sys.executable, "-P", "-s", "-m", "jim.run_grid_job", "keeper", place), env=environment)

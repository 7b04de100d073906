"""Starting a keeper: from a door that must return at once, or as the keeper itself."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

from jim.errors import BadSite, JimError
from jim.site import SITE_VARIABLE, STATE_VARIABLE


def wake(state: Path) -> None:
    """Start a keeper unless one runs. Its lock decides: the one that comes second ends at once."""
    with (state / "keeper.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
    start_keeper(state)


def start_keeper(state: Path) -> None:
    """Start a keeper process that shares nothing with us: not the session, the descriptors, nor the environment."""
    from jim.idealizer.run import scrubbed_environment, spawn

    place = str(state.resolve())  # one directory must have one name: it is a part of the work directory's
    named = os.environ.get(SITE_VARIABLE)
    site = {SITE_VARIABLE: str(Path(named).absolute())} if named else {}
    environment = scrubbed_environment({STATE_VARIABLE: place} | site)
    spawn((sys.executable, "-P", "-s", "-m", "jim.run_grid_job", "keeper", place), env=environment)


def _last_words(state: Path, words: str) -> BadSite:
    """Leave in the log what keeps a keeper from starting: nobody sees its stderr."""
    with (state / "keeper.log").open("a") as log:
        log.write(f"{words}\n")
    return BadSite(words)


def run_keeper(state: Path, *, foreground: bool = False) -> int:
    """Be the keeper of this state directory; 0 when it ended for want of work, 1 when there is one already."""
    import signal

    from jim.clock import Clock
    from jim.keeper import keep

    try:
        from jim.opening import open_house, site_of, start_log
        from jim.run_grid_job import Rounds
    except ImportError as error:
        raise _last_words(state, f"a library is missing for {sys.executable}: {error}") from error

    os.umask(0o077)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    site = site_of(state)
    start_log(site, foreground=foreground)
    try:
        free = keep(site.state, Clock(), site.keep.idle_seconds, lambda: Rounds(open_house(site)))
    except KeyboardInterrupt:  # asked to end: everything that matters is stored
        os._exit(0)
    if not free and foreground:
        raise JimError(f"{site.state} has a keeper already (pid {(site.state / 'keeper.lock').read_text().strip()})")
    return 0 if free else 1

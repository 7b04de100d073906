"""Starting a keeper: from a door that must return at once, or as the keeper itself."""

from __future__ import annotations

import fcntl
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from jim.clock import Clock
from jim.errors import BadSite, JimError
from jim.site.file import SITE_VARIABLE, STATE_VARIABLE

LIBRARIES = ("lxml", "psutil", "tenacity")  # no keeper can do without
LOCKS = Path("/proc/locks")
OPENING_SECONDS = 5.0
FRESH_SECONDS = 20  # an older heartbeat is no keeper's; jim-poll says the same


def heart_beats(state: Path, clock: Clock) -> bool:
    """Tell whether a keeper beat its heart a moment ago, in this run of the machine."""
    try:
        boot, beat = (state / "heartbeat").read_text().split()
        return boot == clock.boot_id() and clock.boot() - int(beat) <= FRESH_SECONDS
    except (OSError, ValueError):  # none yet; or the last one left for want of work
        return False


def runs(state: Path) -> bool:
    """Tell whether a keeper holds the lock. Looking takes it for a moment, so who finds it free must start one."""
    lock = os.open(state / "keeper.lock", os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def holder(state: Path) -> int:
    """Give the pid of the keeper that holds the lock; 0: none does. Asked of the system, so that none is kept out."""
    try:
        file = state / "keeper.lock"
        pid, inode = int(file.read_text()), file.stat().st_ino
        held = re.search(rf"^\d+: FLOCK +ADVISORY +WRITE +{pid} \S+:{inode} ", LOCKS.read_text(), re.MULTILINE)
    except (OSError, ValueError):
        return 0
    return pid if held else 0


@contextmanager
def alone(state: Path) -> Iterator[None]:
    """Keep every keeper out; refuse where one is at work. One that only finds out that it must end is waited for."""
    from jim.keeper.loop import Lock

    lock, until = Lock(state), time.monotonic() + OPENING_SECONDS
    while not lock.take():
        if time.monotonic() > until:
            raise JimError(f"a keeper is at work in {state} (pid {holder(state)}): end it first; that loses nothing")
        time.sleep(0.1)
    try:
        yield
    finally:
        lock.release()


def require_keeper(state: Path) -> None:
    """See that a keeper runs here, or that one could; or say what it lacks. The lock is left to those who start one."""
    if heart_beats(state, Clock()):
        return
    _require_libraries()


def _require_libraries() -> None:
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
    """Start a keeper unless one runs. Its lock decides: the one that comes second ends at once."""
    if not runs(state):
        start_keeper(state)


def start_keeper(state: Path) -> None:
    """Start a keeper process that shares nothing with us: not the session, the descriptors, nor the environment."""
    from jim.command import scrubbed_environment, spawn

    place = str(state.resolve())  # one directory must have one name: it is a part of the work directory's
    named = os.environ.get(SITE_VARIABLE)
    site = {SITE_VARIABLE: str(Path(named).absolute())} if named else {}
    environment = scrubbed_environment({STATE_VARIABLE: place} | site)
    spawn((sys.executable, "-P", "-s", "-m", "jim.run_grid_job", "keeper", place), env=environment)


def _last_words(state: Path, error: JimError) -> JimError:
    """Leave in the log what keeps a keeper from starting: nobody sees its stderr. Once: polls try again and again."""
    words = f" CRITICAL {__name__} the keeper ends: {error}\n".encode()
    with (state / "keeper.log").open("ab+") as log:
        log.seek(max(0, log.seek(0, os.SEEK_END) - len(words)))
        if log.read() != words:
            log.write(Clock().utc().encode() + words)
    return error


def run_keeper(state: Path, *, foreground: bool = False) -> int:
    """Be the keeper of this state directory; 0 when it ended for want of work, 1 when there is one already."""
    import logging
    import signal

    from jim.keeper.loop import keep

    try:
        from jim.keeper.opening import open_house, site_of, start_log
        from jim.run_grid_job import Rounds

        site = site_of(state)
        _require_libraries()  # those that are imported later, too
    except ImportError as error:
        raise _last_words(state, lacking([error.name or str(error)])) from error
    except BadSite as error:
        raise _last_words(state, error) from None

    os.umask(0o077)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    start_log(site, foreground=foreground)
    try:
        free = keep(site.state, Clock(), site.keep.idle_seconds, lambda: Rounds(open_house(site)))
    except KeyboardInterrupt:  # everything that matters is stored
        logging.getLogger(__name__).info("the keeper, pid %d, ends: it was asked to", os.getpid())
        os._exit(0)
    if not free and foreground:
        raise JimError(f"{site.state} has a keeper already (pid {(site.state / 'keeper.lock').read_text().strip()})")
    return 0 if free else 1

"""Runs the keeper process of a state directory from start to end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jim.keeper.keeper import Keeper
    from jim.keeper.loop import Work

import os
from pathlib import Path

from jim.clock import Clock
from jim.doors.serving import hear_of_children
from jim.errors import BadSite, JimError, plain
from jim.model import KEEPER_ENDS
from jim.site.libraries import lacking, require_libraries
from jim.site.whose import require_own


def _last_words(state: Path, error: JimError) -> JimError:
    """Log why a keeper cannot start, as nobody sees its stderr; once, as polls try again and again."""
    words = f" CRITICAL {__name__} {KEEPER_ENDS}{plain(error)}\n".encode()
    with (state / "keeper.log").open("ab+") as log:
        log.seek(max(0, log.seek(0, os.SEEK_END) - len(words)))
        if log.read() != words:
            log.write(Clock().utc().encode() + words)
    return error


def run_keeper(state: Path, begin: Callable[[], Callable[[Keeper], Work]], *, foreground: bool = False) -> int:
    """Run the keeper of this state directory; return 0 if no work was left, 1 if another keeper runs already.

    `begin` loads the moves and returns the function that makes rounds of them.
    """
    import logging
    import signal

    hear_of_children()
    require_own(state)  # before anything is logged
    try:
        from jim.keeper.loop import keep
        from jim.keeper.opening import open_keeper, site_of, start_log

        rounds, site = begin(), site_of(state)
        require_libraries()  # including those that are imported later
    except ImportError as error:
        raise _last_words(state, lacking([error.name or str(error)])) from error
    except BadSite as error:
        raise _last_words(state, error) from None

    os.umask(0o077)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    start_log(site, foreground=foreground)
    try:
        free = keep(site.state, Clock(), site.keep.idle_seconds, lambda: rounds(open_keeper(site)))
    except KeyboardInterrupt:  # everything that is needed is stored
        logging.getLogger(__name__).info("the keeper, pid %d, ends: it was asked to", os.getpid())
        os._exit(0)
    if not free and foreground:
        raise JimError(f"{site.state} has a keeper already (pid {(site.state / 'keeper.lock').read_text().strip()})")
    return 0 if free else 1

"""Runs the keeper process of a state directory from start to end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from jim.keeper.keeper import Keeper
    from jim.keeper.loop import Work

import os
import sys
from pathlib import Path

from jim.clock import Clock
from jim.command import become
from jim.doors.serving import hear_of_children
from jim.errors import BadSite, JimError, Replaced, plain
from jim.files.own_files import PACKAGE, OwnFiles
from jim.model import KEEPER_ENDS
from jim.site.libraries import lacking, require_libraries
from jim.site.whose import require_own


def _last_words(state: Path, error: JimError) -> JimError:
    """Log why a keeper cannot start, as nobody sees its stderr; once, as polls try again and again."""
    from jim.log_lines import Line, end_of, is_json, lines_of, written

    with (state / "keeper.log").open("ab+") as log:
        end, line = end_of(log), Line("CRITICAL", f"{KEEPER_ENDS}{plain(error)}")
        if list(lines_of(end))[-1:] != [line]:  # the form is that of the lines before: no site file may be readable
            log.write(f"{written(Clock().utc(), __name__, line, as_json=is_json(end))}\n".encode())
    return error


def _missing(error: ImportError) -> JimError:
    name = error.name or str(error)
    if name.partition(".")[0] != "jim":
        return lacking([name])
    return JimError(f"JIM's own files are not whole ({error}); it may be being upgraded, and the next poll tries again")


def _begin_anew(own_files: OwnFiles) -> NoReturn:
    own_files.wait()
    become(sys.executable, sys.orig_argv[1:])


def run_keeper(state: Path, begin: Callable[[], Callable[[Keeper], Work]], *, foreground: bool = False) -> int:
    """Run the keeper of this state directory; return 0 if no work was left, 1 if another keeper runs already.

    `begin` loads the moves and returns the function that makes rounds of them.
    """
    import logging
    import signal

    hear_of_children()
    require_own(state)  # before anything is logged
    own_files = OwnFiles(PACKAGE)
    try:
        from jim.keeper.loop import keep
        from jim.keeper.opening import load_job_types, open_keeper, site_of, start_log

        rounds, site = begin(), site_of(state)
        load_job_types()
        require_libraries()  # including those that are imported later
    except ImportError as error:
        raise _last_words(state, _missing(error)) from error
    except BadSite as error:
        raise _last_words(state, error) from None

    os.umask(0o077)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    start_log(site, foreground=foreground)
    log = logging.getLogger(__name__)
    try:
        free = keep(site.state, Clock(), site.keep.idle_seconds, lambda: rounds(open_keeper(site, own_files)))
    except KeyboardInterrupt:  # everything that is needed is stored
        log.info("the keeper, pid %d, ends: it was asked to", os.getpid())
        os._exit(0)
    except Replaced as error:
        log.warning("the keeper, pid %d, begins anew once nothing of JIM changes any more: %s", os.getpid(), error)
        _begin_anew(own_files)
    if not free and foreground:
        raise JimError(f"{site.state} has a keeper already (pid {(site.state / 'keeper.lock').read_text().strip()})")
    return 0 if free else 1

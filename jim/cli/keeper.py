"""jim keeper: runs the keeper of this account, or starts all keepers that are needed."""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from jim.cli.recorded_acts import acted
from jim.cli.text import escaped, say, warn
from jim.doors.contract import door_of
from jim.doors.inbox import account
from jim.errors import BadSite, JimError
from jim.keeper.main import run_keeper
from jim.keeper.serial import instances_in, refuse_outdated
from jim.keeper.waking import start_keeper
from jim.model import Step
from jim.reading.quantities import how_many
from jim.reading.view import View, look
from jim.run_grid_job import rounds
from jim.site import file as site_file
from jim.site.accounts import for_each, run_as
from jim.site.file import Site, make_state
from jim.site.lock import holder, runs
from jim.site.whose import refuse_root, require_own
from jim.statusdb.task_rows import LIVE_TASKS, Task

END_SECONDS = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim keeper`."""
    help_ = (
        "start a keeper wherever there are unfinished grid jobs and no keeper runs; as root of a site of "
        "several accounts: for each"
    )
    parser.add_argument("--all", action="store_true", help=help_)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--list", action="store_true", help="say whether the keeper runs; for root: of every account")
    which.add_argument("--end", action="store_true", help="end the keeper, which loses nothing; with --all: every one")


def run(arguments: argparse.Namespace) -> int:
    """Run the keeper in the foreground; or start, list or end keepers."""
    site = _obeyed_or_not() if arguments.list or arguments.end else site_file.load()
    root_sees_all = site.managed and os.getuid() == 0
    if arguments.list:
        return _for_all(partial(_list_own, site), "--list") if root_sees_all else _list_own(site)
    if arguments.end:
        return _end_all(site) if root_sees_all and arguments.all else _end_own(site)
    if arguments.all:
        return _for_all(_start_own, "--all") if root_sees_all else _start_own()
    refuse_root(managed=site.managed)
    make_state(site)
    return run_keeper(site.state, rounds, foreground=True)


def _obeyed_or_not() -> Site:
    """Return the site; of one whose file is wrong, its places: whoever mends it must see and end keepers."""
    try:
        return site_file.load()
    except BadSite as error:
        site = site_file.unread()
        warn([f"{error}. Until this is corrected, doors refuse requests, and no keeper starts"])
        return site


def _for_all(does: Callable[[], int], option: str) -> int:
    """Do for each account of the site what `jim keeper` with this option does for one."""
    return max((code for _, code in for_each(lambda name: _as(name, does, option), say)), default=0)


def _end_all(site: Site) -> int:
    acted(site, "keeper --end --all", shared=True)
    return _for_all(partial(_end_own, site), "--end")


def _start_own() -> int:
    """Start this account's keeper if it is needed, and report it in one line."""
    view, name = look(), account()
    require_own(view.site.state)
    unfinished = len(view.unfinished())
    wishes = any((view.site.state / "inbox").glob("wish-*"))
    kept, finished = view.site.keep.seconds, view.store.grid_jobs(Step.FINISHED)
    untold = any(_is_untold(view.site, name) for name in {"", *(job.door for job in finished)})
    old = any(view.age(job.updated) > kept(test=job.is_test) for job in finished)
    tasks = view.store.tasks.all(*LIVE_TASKS)
    left = f"{how_many(unfinished, 'grid job')} {'is' if unfinished == 1 else 'are'} unfinished{_going_on(tasks)}"
    if not (unfinished or wishes or untold or old or tasks or view.store.at_doors.any_unplaced()):
        say(f"{name}: nothing to do")
    elif runs(view.site.state):
        say(f"{name}: a keeper runs, {left}")
    else:
        refusal = _refusal(view)
        start_keeper(view.site.state)  # one that refuses to go on says so in keeper.log, for everybody who looks
        say(f"{name}: keeper started, {f'which ends at once: {refusal}' if refusal else left}")
    return 0


def _refusal(view: View) -> str:
    """Return why a keeper will not go on before a person has decided; what nobody can read, the keeper finds out."""
    with suppress(OSError):
        try:
            refuse_outdated(view.site, view.store, instances_in(view.site.state) or ("",))
        except BadSite as error:
            return str(error)
    return ""


def _going_on(tasks: list[Task]) -> str:
    """Say that tasks go on, which have a keeper even if no grid job is unfinished."""
    return f", {how_many(len(tasks), 'task')} {'goes' if len(tasks) == 1 else 'go'} on" if tasks else ""


def _list_own(site: Site) -> int:
    """Print in one line whether the own keeper runs, and how much is unfinished."""
    view = look(site)
    unfinished = len(view.unfinished())
    tasks = _going_on(view.store.tasks.all(*LIVE_TASKS))
    left = f"{how_many(unfinished, 'grid job')} {'is' if unfinished == 1 else 'are'} unfinished{tasks}"
    keeper = view.heart().words if holder(view.site.state) else "no keeper runs"
    say(f"{account()}: {keeper}; {left}; {view.site.state}")
    return 0


def _end_own(site: Site) -> int:
    """End the own keeper and wait for its end; what it was at, the next one goes on with."""
    name = account()
    pid = holder(site.state)
    if not pid:
        say(f"{name}: no keeper runs")
        return 0
    with suppress(ProcessLookupError):  # it has ended by itself
        _end(pid, site.state)
    say(f"{name}: keeper {pid} has ended; a poll, a wish or `jim keeper --all` starts the next one")
    acted(site, "keeper --end", f"keeper {pid}")
    return 0


def _end(pid: int, state: Path) -> None:
    """End a process that still holds the lock; a descriptor of it names no later process of the same pid."""
    process = os.pidfd_open(pid)
    try:
        if holder(state) != pid:
            return
        signal.pidfd_send_signal(process, signal.SIGTERM)
        ended = select.poll()  # `select.select` knows no descriptors above 1,023
        ended.register(process, select.POLLIN)
        if not ended.poll(END_SECONDS * 1000):
            raise JimError(f"keeper {pid} has not ended in {END_SECONDS} s: `kill -9 {pid}` ends it, and loses nothing")
    finally:
        os.close(process)


def _is_untold(site: Site, door: str) -> bool:
    """Tell whether a door still has something to write; a door that no longer exists has not."""
    try:
        return door_of(door, site.site.handlers).untold(site.state)
    except JimError:
        return False


def _as(name: str, does: Callable[[], int], option: str) -> int:
    """Let an account look after itself: nothing of its directory is read or written as root."""
    if name == account():
        return does()
    answer = run_as(name, "keeper", option)
    if answer.code == 0:
        say(answer.out)
        return 0
    print(escaped(f"{name}: {answer.facts()}"), file=sys.stderr)
    return 1

"""jim keeper: runs the keeper of this account, or starts all keepers that are needed."""

from __future__ import annotations

import argparse
import os
import pwd
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jim.cli.text import escaped, say
from jim.command import run as run_command
from jim.doors.contract import door_of
from jim.doors.inbox import account
from jim.errors import JimError
from jim.keeper.main import run_keeper
from jim.keeper.waking import start_keeper
from jim.model import Step
from jim.reading.quantities import how_many
from jim.reading.view import look
from jim.run_grid_job import rounds
from jim.site import file as site_file
from jim.site.file import MANAGED_STATE, Site, make_state
from jim.site.lock import runs

LIMIT_SECONDS = 60
AT_ONCE = 16  # accounts, for each of which a process is started


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim keeper`."""
    help_ = (
        "start a keeper wherever there are unfinished grid jobs and no keeper runs; as root of a managed "
        "site: for every account"
    )
    parser.add_argument("--all", action="store_true", help=help_)


def run(arguments: argparse.Namespace) -> int:
    """Run the keeper in the foreground, or start keepers and exit."""
    site = site_file.load()
    if arguments.all:
        if site.managed and os.getuid() == 0:
            with ThreadPoolExecutor(AT_ONCE) as pool:  # a process that hangs does not delay the others
                return max(pool.map(_start_as, list(_accounts(MANAGED_STATE))), default=0)
        return _start_own()
    make_state(site)
    return run_keeper(site.state, rounds, foreground=True)


def _start_own() -> int:
    """Start this account's keeper if it is needed, and report it in one line."""
    view, name = look(), account()
    unfinished = len(view.unfinished())
    wishes = any((view.site.state / "inbox").glob("wish-*"))
    kept, finished = view.site.keep.seconds, view.store.grid_jobs(Step.FINISHED)
    untold = any(_is_untold(view.site, name) for name in {"", *(job.door for job in finished)})
    old = any(view.age(job.updated) > kept(test=job.is_test) for job in finished)
    left = f"{how_many(unfinished, 'grid job')} {'is' if unfinished == 1 else 'are'} unfinished"
    if not (unfinished or wishes or untold or old):
        say(f"{name}: nothing to do")
    elif runs(view.site.state):
        say(f"{name}: a keeper runs, {left}")
    else:
        start_keeper(view.site.state)
        say(f"{name}: keeper started, {left}")
    return 0


def _is_untold(site: Site, door: str) -> bool:
    """Tell whether a door still has something to write; a door that no longer exists has not."""
    try:
        return door_of(door, site.site.handlers).untold(site.state)
    except JimError:
        return False


def _accounts(place: Path) -> Iterator[str]:
    """Return the accounts that own their state directories: a directory name alone must not start a keeper."""
    for directory in sorted(place.iterdir()):
        if directory.name.startswith(".") or directory.is_symlink() or not directory.is_dir():
            continue
        try:
            owner = pwd.getpwnam(directory.name).pw_uid
        except KeyError:
            say(f"{directory.name}: there is no such account; skipped")
            continue
        if directory.stat().st_uid == owner:
            yield directory.name
        else:
            say(f"{directory.name}: {directory} belongs to uid {directory.stat().st_uid}; skipped")


def _start_as(name: str) -> int:
    """Run this verb as the account: root reads and writes nothing in its directory."""
    if name == account():
        return _start_own()
    call = "import sys; from jim.cli import main; sys.exit(main())"
    command = (sys.executable, "-P", "-s", "-c", call, "keeper", "--all")
    answer = run_command(command, limit=LIMIT_SECONDS, account=name)
    if answer.code == 0:
        say(answer.out)
        return 0
    print(escaped(f"{name}: {answer.facts()}"), file=sys.stderr)
    return 1

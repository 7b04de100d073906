"""jim site: sets up a site, and proves that the site can keep JIM's promise."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jim.admin import init as site_init
from jim.cli import site_metrics, site_orders, site_test
from jim.cli.every_account import NO_ACCOUNT
from jim.cli.recorded_acts import acted
from jim.cli.text import say, say_finding, say_json
from jim.clock import Clock
from jim.errors import BadRequest, BadSite, JimError, UnknownJob
from jim.files import replace
from jim.site import file as site_file
from jim.site import whose
from jim.site.file import SITE_VARIABLE, STATE_VARIABLE

NAMES = "init|check|test|drain|undrain|ban|unban|bans|avoid|metrics|backup|moved|restored"
INIT, CHECK = "example: jim site init --account mc --work /shared/jim", "example: jim site check"
MOVED, RESTORED = "example: jim site moved", "example: jim site restored"
BACKUP, TEST = "example: jim site backup /backup/mc/2026-11-23.tar", "example: jim site test all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim site`."""
    verbs = parser.add_subparsers(dest="site_verb", metavar=NAMES, required=True)
    init = verbs.add_parser("init", help="write a site file, and make the directories of accounts", epilog=INIT)
    init.add_argument("--file", type=Path, help="path of the file; default: where JIM looks for it")
    init.add_argument(
        "--work",
        metavar="DIR",
        default="",
        help="directory that the worker nodes see, if it is not the state directory",
    )
    init.add_argument(
        "--account",
        metavar="NAME",
        action="append",
        default=[],
        help="as root: make the directories that this account needs; may be repeated",
    )
    check = verbs.add_parser(
        "check", help="prove with real operations that this place works (exit 3: it does not)", epilog=CHECK
    )
    check.add_argument("--json", action="store_true", help="print one JSON document")
    verbs.add_parser(
        "moved", help="continue with a state directory that has a new path, or is on a new machine", epilog=MOVED
    )
    verbs.add_parser(
        "restored", help="continue with a state directory from a backup or snapshot, or with a copy", epilog=RESTORED
    )
    site_orders.add_verbs(verbs)
    site_metrics.add_verb(verbs)
    save = verbs.add_parser(
        "backup", help="save the state directory, while the keeper is at work, for a restore", epilog=BACKUP
    )
    save.add_argument("file", metavar="FILE", type=Path, help="the tar to write, on another disk")
    site_test.add_arguments(verbs.add_parser("test", help="run real jobs through the batch system", epilog=TEST))


def run(arguments: argparse.Namespace) -> int:
    """Set up a site, or check it."""
    verbs = {"init": _init, "check": _check, "test": site_test.run, "moved": _go_on, "restored": _go_on}
    verbs |= {"backup": _backup, "metrics": site_metrics.run, **site_orders.VERBS}
    return verbs[arguments.site_verb](arguments)


def misread(words: Sequence[str], error: BadRequest) -> int:
    """Answer a command line that cannot be read."""
    if words[:1] != ["test"]:
        raise error
    return site_test.misread(error, as_json="--json" in words)


def _init(arguments: argparse.Namespace) -> int:
    managed = bool(arguments.account) or (_is_root() and STATE_VARIABLE not in os.environ)
    work = str(Path(arguments.work).absolute()) if arguments.work else ""
    state = site_file.MANAGED_STATE if managed else site_init.own_state()
    named = os.environ.get(SITE_VARIABLE)
    usual = site_file.MANAGED_FILE if managed else Path(named) if named else state / "site.toml"
    file = (arguments.file or usual).absolute()
    for name in arguments.account:
        site_init.account_of(name)  # before the first file is written
    if work and not Path(work).is_dir():
        raise BadSite(f"--work: {work} is no directory: mount it, or make it if it is new; nothing was made")
    if arguments.account and file.exists():
        _require_same_work(file, state, work)
    else:
        found = site_init.look_around(state, work)
        site_init.write_site_file(file, site_init.site_text(found), state, 0o644 if managed else 0o600)
        say(f"wrote {file}; `jim site check` proves that it works")
        if managed and not arguments.account:
            say(NO_ACCOUNT)
    is_whole = True
    for name in arguments.account:
        lines = list(site_init.make_account(name))
        for line in lines or [f"{name} has all that it needs already; nothing was made"]:
            say(line)
        is_whole &= not any(line.startswith(site_init.NOT_MADE) for line in lines)
        acted(site_file.load(), "site init", f"account {name}", shared=True)
    return 0 if is_whole else BadSite.exit_code


def _require_same_work(file: Path, state: Path, work: str) -> None:
    """Refuse another work directory than that of the site file, which is never changed."""
    if work and work != (has := site_file.read(file, state, managed=True).site.work):
        raise BadSite(
            f"{file} has another work directory, {has or 'that inside the state directory'}: edit `work` in it, and "
            "run `jim site init` without --work"
        )


def _go_on(arguments: argparse.Namespace) -> int:
    """Record that the state directory was moved or restored, print the consequences, and start its keeper."""
    from jim.admin import restoring
    from jim.run_grid_job import wake
    from jim.statusdb import is_there

    site = site_file.load()
    if not is_there(site.state):
        raise UnknownJob(f"there are no grid jobs yet in {site.state}: nothing was moved or restored there")
    for line in getattr(restoring, arguments.site_verb)(site):
        say(line)
        sys.stdout.flush()  # if the command is killed, the next one does not say this again
    acted(site, f"site {arguments.site_verb}")
    wake(site.state)
    return 0


def _backup(arguments: argparse.Namespace) -> int:
    from jim.admin.saving import save

    site, file = site_file.load(), arguments.file.absolute()
    whose.refuse_root(managed=site.managed)
    for line in save(site, file):
        say(line)
    acted(site, "site backup", str(file))
    return 0


def _is_root() -> bool:
    return os.geteuid() == 0


def _check(arguments: argparse.Namespace) -> int:
    """Print one line for each finding; only failures change the exit code."""
    from jim.admin.check import findings
    from jim.admin.finding import FAILED

    found = []
    for finding in findings():
        found.append(finding)
        if not arguments.json:
            say_finding(finding)
    failed = any(finding.level == FAILED for finding in found)
    names = ("name", "level", "said", "todo")
    told = {"ok": not failed, "checks": [{name: getattr(each, name) for name in names} for each in found]}
    _leave(told)
    if arguments.json:
        say_json(told)
    return BadSite.exit_code if failed else 0


def _leave(told: dict[str, Any]) -> None:
    """Leave the findings for the pages, which never run a batch command themselves."""
    with suppress(OSError, JimError):  # one finding is that there is no site, or no place for this file
        replace(site_file.load().checked, json.dumps({"at": Clock().utc(), **told}).encode(), 0o640)

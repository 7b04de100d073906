"""The accounts of a managed site, and how root acts as one of them."""

from __future__ import annotations

import os
import pwd
import stat
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from jim.command import run
from jim.errors import BadRequest
from jim.model import Answer
from jim.site.file import MANAGED_FILE, MANAGED_STATE, STATE_VARIABLE

UNKNOWN = "there is no such account"
LIMIT_SECONDS, AT_ONCE = 60, 16
T = TypeVar("T")


def accounts(complain: Callable[[str], None], place: Path = MANAGED_STATE) -> Iterator[str]:
    """Return the accounts that own the state directory of their name: a mere name makes no account act.

    What somebody has put aside as ACCOUNT.WORD, such as an old state directory, is nothing to complain about.
    """
    for directory in sorted(place.iterdir()) if place.is_dir() else ():
        if directory.name.startswith(".") or directory.is_symlink() or not directory.is_dir():
            continue
        wrong = _wrong(directory)
        if not wrong:
            yield directory.name
        elif wrong != UNKNOWN or not _is_put_aside(directory):
            complain(f"{directory.name}: {wrong}; left alone")


def _is_put_aside(directory: Path) -> bool:
    account, _, word = directory.name.rpartition(".")
    own = directory.parent / account
    return bool(account and word) and own.is_dir() and not _wrong(own)


def _wrong(directory: Path) -> str:
    """Return why a directory is not that of the account with its name; empty: it is."""
    try:
        owner = pwd.getpwnam(directory.name).pw_uid
    except KeyError:
        return UNKNOWN
    has = directory.lstat()
    if has.st_uid == owner and stat.S_ISDIR(has.st_mode):
        return ""
    return f"{directory} belongs to uid {has.st_uid}"


def require_of_site(name: str, file: Path = MANAGED_FILE, place: Path = MANAGED_STATE) -> None:
    """Refuse an account that a site of several accounts does not have; another site has only its owner's."""
    if not file.exists() or not place.is_dir():
        return
    own = place / name
    if own.name == name and os.path.lexists(own) and not _wrong(own):
        return  # to look at all of the accounts takes long where there are hundreds
    names = list(accounts(lambda _: None, place))
    if name not in names:
        there = f"its accounts are {', '.join(names)}" if names else "it has none yet"
        raise BadRequest(f"{name} is no account of this site: {there}; `jim site init --account {name}` makes it one")


def run_as(name: str, *words: str) -> Answer:
    """Run a verb of `jim` as an account, in a process of its own: root reads and writes nothing of its files."""
    call = "import sys; from jim.cli import main; sys.exit(main())"
    return run((sys.executable, "-P", "-s", "-c", call, *words), limit=LIMIT_SECONDS, account=name)


def for_each(does: Callable[[str], T], complain: Callable[[str], None]) -> list[tuple[str, T]]:
    """Do something for each account of the site, for several at once: one that hangs holds up no other."""
    names = list(accounts(complain))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(zip(names, pool.map(does, names), strict=True))


def become(name: str) -> None:
    """Go on as an account, for the rest of this process; only root can become another one."""
    try:
        known = pwd.getpwnam(name)
    except (KeyError, ValueError) as error:
        raise BadRequest(f"there is no account {name!r} on this machine") from error
    if known.pw_uid == os.geteuid():
        return
    if os.geteuid() != 0:
        raise BadRequest(f"only root may look at the grid jobs of {name}: run this as root, or as {name}")
    require_of_site(name)
    os.chdir("/")
    os.initgroups(name, known.pw_gid)
    os.setgid(known.pw_gid)
    os.setuid(known.pw_uid)
    for variable in (STATE_VARIABLE, "XDG_STATE_HOME"):  # where root's own state directory would be
        os.environ.pop(variable, None)
    os.environ.update(HOME=known.pw_dir, USER=name, LOGNAME=name)

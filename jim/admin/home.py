"""Where this JIM lies, for those who put links to it elsewhere, and whether there is another one."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from jim.admin.finding import OK, WARNING, Finding
from jim.guide import SHELL, guide

LONGEST, LEADS = 1000, re.compile(r'^exec "(.+)/shell/jim"', re.MULTILINE)  # of a script that only leads to JIM


def _home() -> Path:
    """Return the directory of `shell`, by a link named `jim` if it leads to this version: such a link survives updates.

    It is the tree that JIM lies in, or where pip has put only the package, the package.
    """
    package = SHELL.parent
    beside = package.with_name("shell")  # of another project, if it is beside what pip has put there
    here = package.parent if beside.is_dir() and beside.samefile(SHELL) else package
    stays = here.with_name("jim")
    return stays if stays.is_symlink() and stays.samefile(here) else here


HOME = _home()


def closed_place() -> Path | None:
    """Return the directory that keeps accounts from JIM, if there is one."""
    return next((each for each in (HOME, *HOME.parents) if not each.stat().st_mode & stat.S_IXOTH), None)


def others(path: str) -> Finding:
    """Warn of another JIM that `make install` or a package has put on the search path: one of the two is hidden."""
    places = {os.path.realpath(each): each for each in reversed(path.split(os.pathsep)) if each}  # /bin is /usr/bin
    programs = [Path(each, "jim") for each in reversed(places.values())]
    homes = {each: _led_to(each) for each in programs if os.access(each, os.X_OK)}
    elsewhere = [f"{each} leads to {home}" for each, home in homes.items() if home and Path(home) != HOME]
    if not elsewhere:
        return Finding("", OK, f"it lies in {HOME}")
    words = f"this JIM lies in {HOME}, and {'; '.join(elsewhere)}: `jim` is the first on the search path"
    return Finding("", WARNING, words, f"remove one of them: {guide('installing.md')}, Move to the package, says how")


def _led_to(program: Path) -> str:
    """Return where the JIM lies that a program leads to; empty if it is none of those."""
    with suppress(OSError), program.open(errors="replace") as file:
        match = LEADS.search(file.read(LONGEST))
        return match[1] if match else ""
    return ""

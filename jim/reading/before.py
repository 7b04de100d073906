"""Finds what an account had handed in before its machine became a site of several accounts."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from jim.clock import Clock
from jim.errors import JimError
from jim.model import Step
from jim.reading.quantities import how_many
from jim.site import whose
from jim.site.file import STATE_VARIABLE, Site, own_state, remedy
from jim.statusdb import file_of, open_store


def own_before(site: Site, own: Path | None = None) -> Path | None:
    """Return the state directory that an account had of its own, if its site has given it another one since."""
    own = own or own_state()
    if not site.managed or os.environ.get(STATE_VARIABLE) or own == site.state:
        return None
    try:
        return own if file_of(own).stat().st_uid == os.geteuid() else None
    except OSError:  # it has none, or nobody can tell now
        return None


def told(own: Path, *, always: bool) -> str:
    """Say where grid jobs from before are, and how to reach them; without `always`, only if some are unfinished."""
    left = _unfinished(own)
    if not (left or always):
        return ""
    runs = f"; {how_many(left, 'grid job')} of it {'is' if left == 1 else 'are'} unfinished" if left else ""
    return f"what was handed in before this machine had a site file is in {own}{runs}: {reach(own)}"


def reach(own: Path) -> str:
    """Return the commands that reach a state directory."""
    return f"`{STATE_VARIABLE}={own} jim status` shows it, `{STATE_VARIABLE}={own} jim keeper --all` goes on with it"


def hint(site: Site) -> str:
    """Return the end of a sentence about a grid job that is not there."""
    if own := own_before(site):
        return f"; grid jobs from before this machine had a site file are in {own}: {reach(own)}"
    if site.managed and os.geteuid() == 0:  # as root, no grid job runs
        return "; as root, look at an account's by `--account NAME`, and act as it by `sudo -u NAME jim …`"
    return ""


def first_step(site: Site, usual: str) -> str:
    """Return what an account does that has nothing yet: what is usual, or what makes a state directory possible."""
    if not site.managed or site.state.is_dir():
        return usual
    return f"run this command as {whose.AN_ACCOUNT}" if whose.is_root() else remedy(site)


def _unfinished(own: Path) -> int:
    try:
        with closing(open_store(own, Clock())) as store:
            return len(store.grid_jobs(*(step for step in Step if step is not Step.FINISHED))) if store.is_made() else 0
    except (JimError, OSError):
        return 0

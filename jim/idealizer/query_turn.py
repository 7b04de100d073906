"""Turns of accounts: all accounts of a site together query the batch system once per interval.

Each account has a file whose time is that of its last query. Only the account can write it. There is no lock, because
whoever may read a file may also lock it.
"""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

log = logging.getLogger(__name__)
PATIENCE = 60  # in intervals, for any number of accounts


def take_turn(own: Path | None, interval: float, waited: float, waited_for: dict[str, float]) -> bool:
    """Tell whether this account may query the batch system now; if so, record the query.

    An account waits for one query of each other account, not more. `waited_for` holds their times until this account
    has queried.
    """
    if own is None:
        return True
    try:
        if waited <= PATIENCE * interval and _asked_by_others(own, interval, waited_for):
            return False
        os.utime(own)
    except OSError as error:  # `jim site init --account` makes the file; without it each account keeps its own interval
        log.debug("accounts take no turns: %s", error)
    waited_for.clear()
    return True


def _asked_by_others(own: Path, interval: float, waited_for: dict[str, float]) -> bool:
    """Tell whether this account still waits for another that has queried within the interval."""
    now, found = time.time(), False
    with os.scandir(own.parent) as files:
        for each in files:
            asked = each.stat(follow_symlinks=False).st_mtime
            if each.name != own.name and 0 <= now - asked < interval:
                found |= waited_for.setdefault(each.name, asked) == asked
    return found

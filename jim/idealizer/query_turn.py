"""Taking turns: all accounts of a site together ask the batch system once per interval.

Each has a file of its own, and its time is that of its last question. Nobody else can write it, and none is locked: who
may read a file may lock it, too.
"""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

log = logging.getLogger(__name__)
PATIENCE = 60  # intervals: however many accounts there are


def take_turn(own: Path | None, interval: float, waited: float, waited_for: dict[str, float]) -> bool:
    """Tell whether the batch system may be asked now, and count it as asked.

    We wait for one question of each other account, no more: `waited_for` keeps which, until we have asked.
    """
    if own is None:
        return True
    try:
        if waited <= PATIENCE * interval and _asked_by_others(own, interval, waited_for):
            return False
        os.utime(own)
    except OSError as error:  # made by `jim site init --account`; without it each account keeps its own interval
        log.debug("no turns are taken: %s", error)
    waited_for.clear()
    return True


def _asked_by_others(own: Path, interval: float, waited_for: dict[str, float]) -> bool:
    """Tell whether another account has asked within an interval, and that question is the one we wait for."""
    now, found = time.time(), False
    with os.scandir(own.parent) as files:
        for each in files:
            asked = each.stat(follow_symlinks=False).st_mtime
            if each.name != own.name and 0 <= now - asked < interval:
                found |= waited_for.setdefault(each.name, asked) == asked
    return found

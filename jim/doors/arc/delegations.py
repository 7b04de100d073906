"""Reads which of the proxies that users have delegated A-REX itself has given to which job.

An account may write what it likes into the file about its job. Which proxy a job may have stands in A-REX's own record:
an SQLite database, in a directory that only A-REX may open. A-REX locks each proxy for the jobs that it is given to. It
waits without an end for whoever locks its database, so the record is read without a lock.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from jim.database import rows_without_lock
from jim.errors import JimError

PLACE, RECORD = "delegations", "list"
GIVEN = "SELECT lock.lockid, lock.uid FROM lock JOIN rec ON rec.uid = lock.uid"
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def given(control: Path) -> frozenset[tuple[object, object]]:
    """Return the pairs of a job and a delegation that A-REX has given to it; an error says why they are not known."""
    place = control / PLACE
    for each in (place, place / RECORD):
        about = each.lstat()
        if about.st_uid not in (0, os.geteuid()) or about.st_mode & OTHERS_WRITE or stat.S_ISLNK(about.st_mode):
            raise JimError(f"others than A-REX may have written {each}")
    return frozenset(rows_without_lock(place / RECORD, GIVEN))

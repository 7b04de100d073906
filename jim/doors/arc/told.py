"""Which ends JIM has told A-REX: a file for each job, in the state directory of its account.

A-REX hands in nothing when a user resumes a failed job: the job is INLRMS again, as if JIM had it still. Only the time
at which it became so tells this from an end that A-REX has not taken yet.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jim.doors.generations import number_of_last
from jim.doors.keeping import Keeper
from jim.errors import JimError
from jim.files import read_regular, replace_durably

PLACE, LONGEST = "arc", 65_536
KEPT_SECONDS = 86_400.0
AT_ONCE = 100


class Told(NamedTuple):
    """An end, as A-REX is told it."""

    number: int  # of the grid job
    entered: int  # when A-REX gave the job to JIM: the time of its status file, in nanoseconds
    code: int
    words: str


def told_of(state: Path, job: str) -> Told | None:
    """Return which end of a job A-REX was told last, if any."""
    try:
        content = json.loads(read_regular(state / PLACE / job, LONGEST))
        return Told(int(content[0]), int(content[1]), int(content[2]), str(content[3]))
    except (OSError, ValueError, LookupError, TypeError, JimError):
        return None


def tell(state: Path, job: str, told: Told) -> None:
    """Store, before A-REX can know it, which end it is told."""
    (state / PLACE).mkdir(mode=0o700, exist_ok=True)
    replace_durably(state / PLACE / job, json.dumps(told).encode())


def forget_some(keeper: Keeper) -> None:
    """Remove files of jobs whose grid jobs are gone: a few, now and then."""
    if not keeper.workers.pace((PLACE, "forget")):
        return
    state = keeper.site.state
    with suppress(FileNotFoundError):
        old = keeper.clock.steady(keeper.clock.boot()) - KEPT_SECONDS
        names = [each for each in os.scandir(state / PLACE) if each.stat().st_mtime < old]
        for each in names[:AT_ONCE]:
            if not number_of_last(state, each.name):
                Path(each.path).unlink()

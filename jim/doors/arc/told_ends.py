"""Which ends JIM has told A-REX: a file for each job, beside the key of its grid job.

A-REX hands in nothing when a user resumes a failed job: the job is INLRMS again, as if JIM had it still. Only how often
it may still be resumed, which A-REX counts down, tells this from an end that A-REX has not taken yet.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from jim.doors.generations import told_file
from jim.errors import JimError
from jim.files import read_regular, replace_durably


class Told(NamedTuple):
    """An end, as A-REX is told it."""

    number: int  # of the grid job
    reruns: int  # how often its user might still resume the job then
    code: int
    words: str


def told_of(state: Path, job: str) -> Told | None:
    """Return which end of a job A-REX was told last, if any."""
    try:
        record = json.loads(read_regular(told_file(state, job), 65_536))
        return Told(int(record["number"]), int(record["reruns"]), int(record["code"]), str(record["words"]))
    except (OSError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError, JimError):
        return None


def tell(state: Path, job: str, told: Told) -> Told:
    """Store, before A-REX can know it, which end it is told; return that."""
    replace_durably(told_file(state, job), json.dumps(told._asdict()).encode())
    return told

"""What comes of a grid job, put where GRAM looks for it when the job has ended.

One local job that runs a program gives what it wrote itself: its stdout, its stderr, and the outputs that
`file_stage_out` names. Of any other grid job the tar is what comes back: as NAME.tar of `file_stage_out`, or else as
stdout. What `file_stage_out` names lies in a directory of this job alone on its way, for two jobs may name the same.
Done again, it does the same again: a job manager may ask twice.
"""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

from jim.clock import Clock
from jim.doors.gram import protocol
from jim.doors.gram.request import USUAL_JOB_TYPE, Description, one, place_of, staged_out
from jim.doors.inbox import answer
from jim.files import passes
from jim.jobs import GridJob
from jim.statusdb import open_store

UNCHANGED = b"\n"
STREAMS = ("stdout", "stderr")
RESULTS = "jim-results"  # in the directory that GRAM gives a job, where our Perl module lets GRAM look for them


def deliver(state: Path, number: int, description: Description) -> bytes:
    """Deliver what a grid job that has ended leaves; return what its poll says then."""
    said = answer(state, number)
    if protocol.final_state(said) is None:
        return said
    with closing(open_store(state, Clock())) as store:
        job = store.grid_job(number)
    try:
        _put(job, description)
    except OSError as error:
        if passes(error):  # a later poll tries again
            return UNCHANGED
        return protocol.failure(
            f"the results cannot be delivered: {error.strerror}: {error.filename}", protocol.STAGE_OUT
        )
    return said


def _put(job: GridJob, description: Description) -> None:
    tar = (job.result or {}).get("tar", "")
    if not tar:  # a split that failed, or a cancel that came before anything was there
        return
    named = staged_out(description)
    for name in named:
        if name.endswith(".tar"):
            place = _place(description, name)
            place.unlink(missing_ok=True)
            place.symlink_to(tar)
    if job.job_type == USUAL_JOB_TYPE and job.size == 1:
        own = [*STREAMS, *(name for name in named if not name.endswith(".tar"))]
        _put_own(tar, f"{job.id}.0", {name: _place(description, name) for name in own})
    elif not named and (place := _place(description, "stdout")) != Path(os.devnull):
        shutil.copyfile(tar, place)


def _place(description: Description, name: str) -> Path:
    """Say where an output belongs: a stream has a place of its own, any other a directory that it may bring along."""
    if name in STREAMS:
        return Path(place_of(description, one(description, name) or os.devnull))
    place = Path(one(description, "jobdir"), RESULTS, name)
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _put_own(tar: str, prefix: str, places: Mapping[str, Path]) -> None:
    """Put single outputs in their places; what is not there was left out for its reason, which the answer tells."""
    begun = set[Path]()  # stdout and stderr may share a file
    with tarfile.open(tar) as packed:
        for name, place in places.items():
            with suppress(KeyError):
                source = packed.extractfile(f"{prefix}/{name}")
                if source and place != Path(os.devnull):
                    with place.open("ab" if place in begun else "wb") as file:
                        begun.add(place)
                        shutil.copyfileobj(source, file)

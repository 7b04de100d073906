"""Delivers the results of a grid job to the places where GRAM expects them.

The results of runs of a program are stdout and stderr, one run after the other, and for a single run the outputs that
`file_stage_out` names. The result of any other grid job is the tar: as NAME.tar of `file_stage_out`, otherwise as
stdout. Outputs for `file_stage_out` pass through a directory of this job alone, because two jobs may use the same
names. Repeating a delivery gives the same files: a job manager may ask twice.
"""

from __future__ import annotations

import os
import re
import shutil
import tarfile
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import IO

from jim.clock import Clock
from jim.doors.gram import protocol
from jim.doors.gram.request import USUAL_JOB_TYPE, Description, one, place_of, staged_out
from jim.doors.inbox import answer
from jim.files import passes
from jim.jobs import GridJob
from jim.statusdb import open_store

UNCHANGED = b"\n"
STREAMS = ("stdout", "stderr")
# Those of failed local jobs, too. An older version added only the end, without a folder of its own.
STREAM = re.compile(r"\d+\.(\d+)(?:\.failed)?/(stdout|stderr)(?:\.last)?")
PROGRAMS = (USUAL_JOB_TYPE, "parametric")  # the job types that run any program
BLOCK = 1024 * 1024
RESULTS = "jim-results"  # in the job's directory, where JIM's Perl module makes GRAM look for the files


def deliver(state: Path, number: int, description: Description) -> bytes:
    """Deliver the results of a grid job that has ended; return the output of its poll."""
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
        return protocol.failure(f"cannot deliver the results: {error.strerror}: {error.filename}", protocol.STAGE_OUT)
    return said


def _put(job: GridJob, description: Description) -> None:
    tar = (job.result or {}).get("tar", "")
    if not tar:  # the split failed, or the grid job was cancelled before there were results
        return
    named = staged_out(description)
    tars = [name for name in named if name.endswith(".tar")]
    for name in tars:
        place = _place(description, name)
        place.unlink(missing_ok=True)
        place.symlink_to(tar)
    alone = job.job_type == USUAL_JOB_TYPE and job.size == 1
    if alone:
        others = [name for name in named if name not in tars]
        _put_own(tar, f"{job.id}.0", {name: _place(description, name) for name in others})
    if alone or (job.job_type in PROGRAMS and (tars or not job.request.get("outputs"))):
        _put_streams(tar, {name: _place(description, name) for name in STREAMS})
    elif not named and (place := _place(description, "stdout")) != Path(os.devnull):
        shutil.copyfile(tar, place)


def _place(description: Description, name: str) -> Path:
    """Return the path for an output: stdout and stderr have their own, other outputs share a directory."""
    if name in STREAMS:
        return Path(place_of(description, one(description, name) or os.devnull))
    place = Path(one(description, "jobdir"), RESULTS, name)
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _put_own(tar: str, prefix: str, places: Mapping[str, Path]) -> None:
    """Put outputs into their places. An output that is missing was left out for a reason, which the answer names."""
    with tarfile.open(tar) as packed:
        for name, place in places.items():
            with suppress(KeyError):
                source = packed.extractfile(f"{prefix}/{name}")
                if source:
                    with place.open("wb") as file:
                        shutil.copyfileobj(source, file)


def _put_streams(tar: str, places: Mapping[str, Path]) -> None:
    """Put stdout and stderr of all local jobs into their places, one local job after the other."""
    begun = set[Path]()  # stdout and stderr may share a file
    with open(tar, "rb") as packed:  # noqa: PTH123 - the name is a text
        found = _streams(packed)
        for name, place in places.items():
            if place == Path(os.devnull):
                continue
            with place.open("ab" if place in begun else "wb") as file:
                begun.add(place)
                for _, at, size in sorted(found[name]):
                    packed.seek(at)
                    for left in range(size, 0, -BLOCK):
                        file.write(packed.read(min(left, BLOCK)))


def _streams(packed: IO[bytes]) -> dict[str, list[tuple[int, int, int]]]:
    """Return where a tar has stdout and stderr of each local job: its number, the place and the size."""
    found: dict[str, list[tuple[int, int, int]]] = {name: [] for name in STREAMS}
    with tarfile.open(fileobj=packed, mode="r:") as members:
        for member in members:
            if stream := STREAM.fullmatch(member.name):
                found[stream[2]].append((int(stream[1]), member.offset_data, member.size))
    return found

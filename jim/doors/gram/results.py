"""Delivers the results of a grid job to the places where GRAM expects them.

The results of runs of a program are stdout and stderr, one run after the other, and for a single run the outputs that
`file_stage_out` names. The result of any other grid job is the tar: as NAME.tar of `file_stage_out`, otherwise as
stdout. Outputs for `file_stage_out` pass through a directory of this job alone, because two jobs may use the same
names. Repeating a delivery gives the same files: a job manager may ask twice.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO

from jim.clock import Clock
from jim.doors.gram import protocol
from jim.doors.gram.request import Description, one, place_of, require_inside, staged_out
from jim.doors.inbox import answer
from jim.doors.placing import PROGRAMS, STREAMS, contents, is_one_program, outputs_in, write
from jim.errors import BadRequest, JimError
from jim.files import LinkFound, passes
from jim.jobs import GridJob
from jim.site.file import Site
from jim.site.realm import Opener, opener_of
from jim.site.walking import directory_below, opened
from jim.statusdb import open_store
from jim.workdir.pinned import open_result

UNCHANGED = b"\n"
MODE = 0o600  # GRAM sends them as the account
RESULTS = "jim-results"  # in the job's directory, where JIM's Perl module makes GRAM look for the files


def deliver(site: Site, number: int, description: Description) -> bytes:
    """Deliver the results of a grid job that has ended; return the output of its poll."""
    said = answer(site.state, number)
    if protocol.final_state(said) is None:
        return said
    with closing(open_store(site.state, Clock())) as store:
        job = store.grid_job(number)
    try:
        _put(job, description, opener_of(site, job.realm))
    except BadRequest as error:
        return protocol.failure(f"cannot deliver the results: {error}", protocol.STAGE_OUT)
    except OSError as error:
        if passes(error) or isinstance(error, LinkFound):  # a later poll tries again
            return UNCHANGED
        return protocol.failure(f"cannot deliver the results: {error.strerror}: {error.filename}", protocol.STAGE_OUT)
    return said


def _put(job: GridJob, description: Description, opener: Opener) -> None:
    tar = (job.result or {}).get("tar", "")
    if not tar:  # the split failed, or the grid job was cancelled before there were results
        return
    named = [*map(require_inside, staged_out(description))]
    tars = [name for name in named if name.endswith(".tar")]
    with _tar(tar) as packed:
        for name in tars:
            _link(packed, _own(description), _place(description, name), opener)
    alone = is_one_program(job)
    if alone:
        others = [name for name in named if name not in tars]
        _put_own(tar, _own(description), {name: _place(description, name) for name in others}, opener)
    if alone or (job.job_type in PROGRAMS and (tars or not job.request.get("outputs"))):
        _put_streams(tar, {name: _place(description, name) for name in STREAMS}, opener, alone=alone)
    elif not named and (place := _place(description, "stdout")) != Path(os.devnull):
        with _opened(place, "wb", opener) as file, _tar(tar) as packed:
            shutil.copyfileobj(packed, file)


def _link(packed: IO[bytes], own: str, place: Path, opener: Opener) -> None:
    """Give the tar another name, where GRAM looks for it. On another file system that can only be a symbolic link."""
    with directory_below(own, str(place), partial(opener.require_place, path=str(place))) as (at, name):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=at)
        try:
            here = packed.fileno()  # what is open, whatever has its name; `src_dir_fd` lets Python follow the link
            os.link(f"/proc/self/fd/{here}", name, src_dir_fd=here, dst_dir_fd=at, follow_symlinks=True)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP):
                raise
            os.symlink(packed.name, name, dir_fd=at)


def _tar(path: str) -> IO[bytes]:
    try:
        packed = io.FileIO(open_result(Path(path)))
    except JimError as error:
        raise BadRequest(str(error)) from error
    packed.name = path  # for messages: without it, the name is a number
    return packed


def _place(description: Description, name: str) -> Path:
    """Return the path for an output: stdout and stderr have their own, other outputs share a directory."""
    if name in STREAMS:
        return Path(place_of(description, one(description, name) or os.devnull))
    return Path(one(description, "jobdir"), RESULTS, name)


def _own(description: Description) -> str:
    """Return the directory that GRAM has made for this job. Payloads can write there: no link below it is followed."""
    own = one(description, "jobdir")
    Path(own).mkdir(parents=True, exist_ok=True)
    return own


def _put_own(tar: str, own: str, places: Mapping[str, Path], opener: Opener) -> None:
    """Put outputs into their places. An output that is missing was left out for a reason, which the answer names."""
    with _tar(tar) as packed:
        outputs = outputs_in(packed, places, alone=True)
        for name in outputs.keys() & places.keys():
            write(opener, own, str(places[name]), contents(packed, outputs[name]), MODE, durable=False)


@contextmanager
def _opened(place: Path, mode: str, opener: Opener) -> Iterator[IO[bytes]]:
    """Open a file that the user has named for results; refuse one of JIM's own."""
    with opened(str(place), may_lack=True) as found:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | (os.O_APPEND if mode == "ab" else os.O_TRUNC)
        opener.require_foreign(found.directory, str(place), "stdout")
        if found.at >= 0 and stat.S_ISFIFO(found.about().st_mode):  # nobody may ever read it, and other jobs would wait
            raise BadRequest(f"{place} is a pipe", "stdout")
        # A pipe that has come just now does not block either.
        descriptor = os.open(found.name, flags | os.O_NONBLOCK, 0o666, dir_fd=found.directory)
        with os.fdopen(descriptor, mode) as file:
            yield file


def _put_streams(tar: str, places: Mapping[str, Path], opener: Opener, *, alone: bool) -> None:
    """Put stdout and stderr of all local jobs into their places, one local job after the other."""
    begun = set[Path]()  # stdout and stderr may share a file
    with _tar(tar) as packed:
        outputs = outputs_in(packed, STREAMS, alone=alone)
        for name, place in places.items():
            if place == Path(os.devnull):
                continue
            with _opened(place, "ab" if place in begun else "wb", opener) as file:
                begun.add(place)
                file.writelines(contents(packed, sorted(outputs.get(name, ()))))

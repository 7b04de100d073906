"""Finds logs, outputs and results from the store's records, and opens them without following any link."""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from jim.errors import JimError, UnknownJob
from jim.evidence.exit_record import Output
from jim.jobs import Attempt, GridJob, LocalJob
from jim.model import State
from jim.reading.documents import exit_record
from jim.reading.view import View
from jim.workdir.submission import submission_directory

PICTURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
LARGEST_PICTURE = 10_000_000
BLOCK = tarfile.BLOCKSIZE


class Gone(JimError):
    """A file that is missing or has changed."""


class Found(NamedTuple):
    """An open file, and the requested part of it."""

    file: IO[bytes]
    begin: int
    size: int


class Member(NamedTuple):
    """One file in a tar."""

    name: str
    size: int


def log_files(view: View, attempt: Attempt) -> dict[str, Path]:
    """Return the log files of an attempt."""
    directory = submission_directory(view.directory(attempt.grid), attempt.k)
    place = directory / f"run.{attempt.idx}"
    return {"stdout": place / "stdout", "stderr": place / "stderr", "log": directory / f"log.{attempt.idx}"}


def open_below(place: Path, path: Path) -> Found:
    """Open a file below a directory; refuse any link in its path."""
    at = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        parts = path.relative_to(place).parts
        for part in parts[:-1]:
            at, above = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at), at
            os.close(above)
        inside = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    finally:
        os.close(at)
    about = os.fstat(inside)
    if not stat.S_ISREG(about.st_mode):
        os.close(inside)
        raise Gone(f"{path.name} is no regular file")
    return Found(os.fdopen(inside, "rb"), 0, about.st_size)


def open_log(view: View, attempt: Attempt, name: str) -> Found:
    """Open a log of an attempt."""
    path = log_files(view, attempt)[name]
    try:
        return open_below(view.directory(attempt.grid), path)
    except (FileNotFoundError, NotADirectoryError) as error:
        why = "it has not started" if not attempt.started else "it was removed, or nothing was written"
        raise Gone(f"there is no {name} of {attempt.grid}.{attempt.n}, attempt {attempt.attempt}: {why}") from error
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> JimError:
    with suppress(OSError):
        if path.is_symlink():
            return Gone(f"{path.name} is a link, which nobody follows here")
    return JimError(f"{path} cannot be read just now: {error.strerror}")


def sizes(view: View, attempt: Attempt) -> dict[str, int]:
    """Return the sizes of the logs of an attempt, without missing ones."""
    found = {}
    for name, path in log_files(view, attempt).items():
        with suppress(OSError):
            about = path.lstat()
            if stat.S_ISREG(about.st_mode):
                found[name] = about.st_size
    return found


# Outputs


def outputs(view: View, local: LocalJob) -> tuple[Attempt | None, Sequence[Output]]:
    """Return the outputs of a completed local job, and the attempt that made them."""
    if local.state is State.COMPLETED:
        for attempt in reversed(view.store.attempts(local.grid, n=local.n)):
            record = exit_record(attempt)
            if attempt.verdict == State.COMPLETED.value and record:
                return attempt, record.files
    return None, ()


def open_output(view: View, job: GridJob, local: LocalJob, name: str) -> Found:
    """Open an output of a completed local job, in its directory or in the tar."""
    attempt, files = outputs(view, local)
    output = next((each for each in files if each.name == name), None)
    if attempt is None or output is None:
        raise UnknownJob(f"{local.grid}.{local.n} has no output of that name")
    place = view.directory(job.id)
    path = submission_directory(place, attempt.k) / f"run.{attempt.idx}" / output.name
    try:
        found = open_below(place, path)
    except OSError:
        return _in_tar(job, f"{job.id}.{local.n}/{output.name}", output.size)
    if found.size != output.size:
        found.file.close()
        raise Gone(f"{name} has {found.size:,} bytes, and {output.size:,} when it was verified")
    return found


def _in_tar(job: GridJob, name: str, size: int) -> Found:
    found = open_result(job)
    with found.file as file, suppress(tarfile.TarError), tarfile.open(fileobj=file, mode="r:") as tar:
        for member in tar:
            if member.name == name and member.isreg() and member.size == size:
                return Found(os.fdopen(os.dup(file.fileno()), "rb"), member.offset_data, member.size)
    raise Gone(f"{name} is neither where it was written nor in the tar")


# The result of a grid job


def open_result(job: GridJob) -> Found:
    """Open the tar of a finished grid job."""
    if not job.result:
        raise UnknownJob(f"{job.id} has no result (step {job.step.value})")
    return _open_beside(Path(job.result["tar"]))


def _open_beside(path: Path) -> Found:
    try:
        return open_below(path.parent, path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise Gone(f"{path} is not there: it was removed, or the work directory is not mounted") from error
    except OSError as error:
        raise _unreadable(path, error) from error


def open_beside(job: GridJob, name: str) -> Found:
    """Open a file that the job type has put beside the tar."""
    if name not in job.result.get("beside", ()):
        raise UnknownJob(f"{job.id} has no file of that name beside its tar")
    return _open_beside(Path(job.result["tar"]).parent / name)


def picture_kind(found: Found) -> str:
    """Return the kind of a picture by its first bytes; empty for other or very large files."""
    if found.size > LARGEST_PICTURE:
        return ""
    begin = os.pread(found.file.fileno(), 8, 0)
    return next((kind for magic, kind in PICTURES.items() if begin.startswith(magic)), "")


def pictures(job: GridJob) -> Mapping[str, str]:
    """Return the pictures beside the tar of a grid job, with their kinds."""
    kinds = {}
    for name in job.result.get("beside", ()):
        with suppress(JimError, OSError):
            found = open_beside(job, name)
            with found.file:
                kinds[name] = picture_kind(found)
    return {name: kind for name, kind in kinds.items() if kind}


def members(job: GridJob, begin: int, limit: int) -> tuple[list[Member], int]:
    """Return members of a grid job's tar from a position on, and the position of the next ones; 0: no more."""
    found = open_result(job)
    with found.file as file:
        if begin % BLOCK or not 0 <= begin < max(found.size, 1):
            raise UnknownJob(f"no member of the tar begins at {begin}")
        file.seek(begin)
        listed: list[Member] = []
        try:
            with tarfile.open(fileobj=file, mode="r:") as tar:
                while len(listed) < limit and (member := tar.next()):
                    listed.append(Member(member.name, member.size))
                last = tar.offset if len(listed) == limit else 0
        except tarfile.TarError as error:
            raise Gone(f"the tar cannot be read from {begin:,} on: {error}") from error
    return listed, last

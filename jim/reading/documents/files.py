"""Finds logs, outputs and results from the store's records, and opens them without following any link."""

from __future__ import annotations

import errno
import os
import stat
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

from jim.errors import JimError, UnknownJob
from jim.evidence.exit_record import Output
from jim.files import open_again
from jim.jobs import Attempt, GridJob, LocalJob
from jim.model import State
from jim.reading.documents.json_documents import exit_record
from jim.reading.view import View
from jim.workdir.submission import submission_directory
from jim.workdir.tar import headers, may_be

Used = TypeVar("Used")
PICTURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
LARGEST_PICTURE = 10_000_000
BLOCK = tarfile.BLOCKSIZE
PRINTED = ("stdout", "stderr")
LAST_LINES, LAST_BYTES = 5, 2000


class Gone(JimError):
    """A file that is missing or has changed."""


class Found(NamedTuple):
    """An open file, and the requested part of it."""

    file: IO[bytes]
    begin: int
    size: int


class Part(NamedTuple):
    """A part of a file that may grow."""

    begin: int
    size: int  # of the whole
    content: bytes


class Member(NamedTuple):
    """One file in a tar."""

    name: str
    size: int


def log_files(view: View, attempt: Attempt) -> dict[str, Path]:
    """Return the log files of an attempt."""
    directory = submission_directory(view.directory(attempt.grid), attempt.k)
    place = directory / f"run.{attempt.idx}"
    return {"stdout": place / "stdout", "stderr": place / "stderr", "log": directory / f"log.{attempt.idx}"}


def missing(view: View, grid: int) -> str:
    """Say why files of a grid job may not be there: nobody has written down where the work directory was before."""
    return f"{view.directory(grid)} was removed, is not mounted, or `site.work` was another directory when {grid} ran"


def open_below(place: Path, path: Path) -> Found:
    """Open a file below a directory; refuse any link in its path."""
    at = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        parts = path.relative_to(place).parts
        for part in parts[:-1]:
            at, above = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at), at
            os.close(above)
        by_name = os.open(parts[-1], os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    finally:
        os.close(at)
    try:
        about = os.fstat(by_name)
        if stat.S_ISLNK(about.st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        if not stat.S_ISREG(about.st_mode):
            raise Gone(f"{path.name} is no regular file")
        return Found(os.fdopen(open_again(by_name, path), "rb"), 0, about.st_size)
    finally:
        os.close(by_name)


def read_log(view: View, attempt: Attempt, name: str, begin: int | None, most: int, last: int) -> Part:
    """Read a part of a log of an attempt; without a begin, its last bytes."""
    path, place = log_files(view, attempt)[name], view.directory(attempt.grid)

    def read() -> Part:
        found = open_below(place, path)
        with found.file as file:
            at = max(0, found.size - last) if begin is None else begin
            return Part(at, found.size, os.pread(file.fileno(), most, at))

    try:
        return view.disk(read)
    except (FileNotFoundError, NotADirectoryError) as error:
        why = "it has not started" if not attempt.started else "it was removed, or nothing was written"
        raise Gone(f"there is no {name} of {attempt.grid}.{attempt.n}, attempt {attempt.attempt}: {why}") from error
    except OSError as error:
        raise _unreadable(view, path, error) from error


def _unreadable(view: View, path: Path, error: OSError) -> JimError:
    with suppress(OSError):
        if view.disk(path.is_symlink):
            return Gone(f"{path.name} is a link, which nobody follows here")
    return JimError(f"{path} cannot be read just now: {error.strerror}")


def sizes(view: View, attempts: Sequence[Attempt]) -> list[dict[str, int]]:
    """Return the sizes of the logs of attempts, without missing ones."""
    files = [log_files(view, attempt) for attempt in attempts]
    return view.disk(lambda: [dict(_sizes(each)) for each in files])


def _sizes(files: Mapping[str, Path]) -> Iterator[tuple[str, int]]:
    for name, path in files.items():
        with suppress(OSError):
            about = path.lstat()
            if stat.S_ISREG(about.st_mode):
                yield name, about.st_size


def last_lines(view: View, attempt: Attempt) -> dict[str, str]:
    """Return the last lines of what the payload of an attempt has written, without empty files."""
    place, files = view.directory(attempt.grid), log_files(view, attempt)
    return view.disk(lambda: {name: text for name in PRINTED if (text := _last_lines(place, files[name]))})


def _last_lines(place: Path, path: Path) -> str:
    with suppress(OSError, Gone):
        found = open_below(place, path)
        with found.file as file:
            begin = max(0, found.size - LAST_BYTES)
            text = os.pread(file.fileno(), LAST_BYTES, begin).decode(errors="backslashreplace")
        lines = text.rstrip("\n").split("\n")
        whole = not begin or len(lines) > LAST_LINES
        return f"{'' if whole else '…'}{chr(10).join(lines[-LAST_LINES:])}"
    return ""


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
        found = view.disk(lambda: open_below(place, path))
    except TimeoutError as error:
        raise _unreadable(view, path, error) from error
    except OSError:
        return _in_tar(view, job, f"{job.id}.{local.n}/{output.name}", local.n, output.size)
    if found.size != output.size:
        found.file.close()
        raise Gone(f"{name} has {found.size:,} bytes, and {output.size:,} when it was verified")
    return found


def _in_tar(view: View, job: GridJob, name: str, n: int, size: int) -> Found:
    found = _using(view, _tar(job), lambda whole: _member(whole.file, name, n, size))
    if found is None:
        raise Gone(f"{name} is neither where it was written nor in the tar")
    return found


def _member(file: IO[bytes], name: str, n: int, size: int) -> Found | None:
    """Find an output of a local job in the tar, under its own name or with a stem."""
    found = None
    with suppress(tarfile.TarError):
        for member, _ in headers(file):
            if member.isreg() and member.size == size and (member.name == name or may_be(member.name, name, n)):
                found = member
                if member.name == name:
                    break
    return Found(os.fdopen(os.dup(file.fileno()), "rb"), found.offset_data, found.size) if found else None


# The result of a grid job


def open_result(view: View, job: GridJob) -> Found:
    """Open the tar of a finished grid job."""
    return _beside(view, _tar(job), open_below)


def _tar(job: GridJob) -> Path:
    if not job.result:
        raise UnknownJob(f"{job.id} has no result (step {job.step.value})")
    return Path(job.result["tar"])


def _beside(view: View, path: Path, use: Callable[[Path, Path], Used]) -> Used:
    """Use a file in a result directory."""
    try:
        return view.disk(lambda: use(path.parent, path))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise Gone(f"{path} is not there: it was removed, or the work directory is not mounted") from error
    except OSError as error:
        raise _unreadable(view, path, error) from error


def _using(view: View, path: Path, use: Callable[[Found], Used]) -> Used:
    """Open a file in a result directory, use the file and close it, all in one read of the disk."""

    def opened(place: Path, path: Path) -> Used:
        found = open_below(place, path)
        with found.file:
            return use(found)

    return _beside(view, path, opened)


def _path_beside(job: GridJob, name: str) -> Path:
    if name not in job.result.get("beside", ()):
        raise UnknownJob(f"{job.id} has no file of that name beside its tar")
    return Path(job.result["tar"]).parent / name


def open_beside(view: View, job: GridJob, name: str) -> Found:
    """Open a file that the job type has put beside the tar."""
    return _beside(view, _path_beside(job, name), open_below)


def picture_kind(view: View, job: GridJob, name: str) -> str:
    """Return the kind of a picture beside the tar by its first bytes; empty for other or very large files."""
    return _using(view, _path_beside(job, name), _kind)


def _kind(found: Found) -> str:
    if found.size > LARGEST_PICTURE:
        return ""
    begin = os.pread(found.file.fileno(), 8, 0)
    return next((kind for magic, kind in PICTURES.items() if begin.startswith(magic)), "")


def pictures(view: View, job: GridJob) -> Mapping[str, str]:
    """Return the pictures beside the tar of a grid job, with their kinds."""
    kinds = {}
    for name in job.result.get("beside", ()):
        with suppress(JimError, OSError):
            kinds[name] = picture_kind(view, job, name)
    return {name: kind for name, kind in kinds.items() if kind}


def members(view: View, job: GridJob, begin: int, limit: int) -> tuple[list[Member], int]:
    """Return members of a grid job's tar from a position on, and the position of the next ones; 0: no more."""
    return _using(view, _tar(job), lambda found: _members(found, begin, limit))


def _members(found: Found, begin: int, limit: int) -> tuple[list[Member], int]:
    if begin % BLOCK or not 0 <= begin < max(found.size, 1):
        raise UnknownJob(f"no member of the tar begins at {begin}")
    found.file.seek(begin)
    listed: list[Member] = []
    last = 0
    try:
        for member, after in islice(headers(found.file), limit):
            listed.append(Member(member.name, member.size))
            last = after if len(listed) == limit else 0
    except tarfile.TarError as error:
        raise Gone(f"the tar cannot be read from {begin:,} on: {error}") from error
    return listed, last

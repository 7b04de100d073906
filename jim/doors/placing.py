"""Puts the outputs of a grid job that has ended where its gatekeeper takes them from.

All outputs come from the tar, and of a program that failed or was killed likewise; of many runs of a program, those of
killed ones are not asked for any more. Each file gets its last name by a rename, so nobody sees a part of it; to place
outputs again gives the same files.
"""

from __future__ import annotations

import io
import os
import re
import tarfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from jim.errors import JimError
from jim.files import cut, sync_directory
from jim.jobs import GridJob
from jim.site.realm import OWN, Opener
from jim.site.walking import directory_below
from jim.workdir.pinned import open_result
from jim.workdir.tar import headers

STREAMS = ("stdout", "stderr")
EVERYTHING = "./"  # in `Places`: all outputs, each with its own name
ONE_PROGRAM = "executable"  # the job type of requests that name only a program
PROGRAMS = (ONE_PROGRAM, "parametric")  # the job types that run any program
BLOCK = 1024 * 1024
MODE = 0o644  # what a batch system gives to the stdout of a program
PROGRAM = 0o755  # of an output that can be executed
# An older version added only the end of what failed local jobs have left, without a folder of its own.
MEMBER = re.compile(r"[0-9]{1,15}\.([0-9]{1,9})(\.failed|\.killed)?/([^\0]+)")
END = re.compile(r"(stdout|stderr)\.last")


Put = Callable[..., None]  # of a path, the content and a mode


class Part(NamedTuple):
    """Where a tar has an output of a local job."""

    n: int
    at: int
    size: int
    executable: bool = False


class Watched(io.FileIO):
    """A file that tells of each read, so that somebody sees whether a copy goes on."""

    def __init__(self, path: Path, heard: Callable[[], None]) -> None:
        super().__init__(open_result(path))
        self.name = str(path)  # for messages: without it, the name is a number
        self._heard = heard

    def read(self, size: int | None = -1, /) -> bytes:
        """Read, and tell of it."""
        self._heard()
        return super().read(size)


def place(
    job: GridJob, places: Mapping[str, Any], heard: Callable[[], None] = lambda: None, opener: Opener = OWN
) -> None:
    """Put outputs into the `Places` of a door. A missing one was left out for a reason, which the answer names.

    `heard` is called again and again, as long as the work goes on.
    """
    heard()
    Path(places["directory"]).stat()  # it is never made: it may be an unmounted one
    directories = set[str]()

    def put(path: str, content: Iterable[bytes], mode: int = MODE) -> None:
        write(opener, places["directory"], path, content, mode)
        directories.add(os.path.dirname(path))  # noqa: PTH120 - a text

    _place_all(job, places, put, heard)
    for each in directories:  # the store will say durably that they are there
        sync_directory(Path(each))


def _place_all(job: GridJob, places: Mapping[str, Any], put: Put, heard: Callable[[], None]) -> None:
    tar = (job.result or {}).get("tar", "")
    files = {name: path for name, path in places.get("files", {}).items() if path != os.devnull}
    if not tar:  # the split failed, or nothing was sent
        for name in files.keys() & set(STREAMS):
            put(files[name], ())
        return
    alone = is_one_program(job)
    whole = "" if alone else places.get("tar", "")
    with Watched(Path(tar), heard) as packed:
        if whole:
            put(whole, _read(packed, 0, os.fstat(packed.fileno()).st_size))
        _place_files(job, packed, {name: path for name, path in files.items() if path != whole}, put)


def is_one_program(job: GridJob) -> bool:
    """Tell whether a grid job is one run of one program; the result of any other one is its tar."""
    return job.job_type == ONE_PROGRAM and job.size == 1


def comes_from_tar(job: GridJob) -> bool:
    """Tell whether a gatekeeper takes what programs have written from the tar, which then has all of it."""
    return bool(job.realm) and not job.is_of_task and job.job_type in PROGRAMS


def _place_files(job: GridJob, packed: Watched, files: dict[str, str], put: Put) -> None:
    """Place outputs of one program, or the streams of all local jobs, and files from beside the tar."""
    alone = is_one_program(job)
    found = outputs_in(packed, None if alone else STREAMS, alone=alone) if job.job_type in PROGRAMS else {}
    begun: dict[str, list[Part]] = {}
    for name, path in _whole_directories(files, found):  # stdout and stderr may share a file
        if name in found or name in STREAMS:
            begun.setdefault(path, []).extend(sorted(found.get(name, ())))
        elif name in job.result.get("beside", ()):
            with os.fdopen(open_result(Path(str(packed.name)).with_name(name)), "rb") as file:
                put(path, _read(file, 0, os.fstat(file.fileno()).st_size))
    for path, parts in begun.items():
        mode = PROGRAM if parts and all(each.executable for each in parts) else MODE
        put(path, contents(packed, parts), mode)


def _whole_directories(files: Mapping[str, str], found: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield names and paths of outputs; for the name of a directory, those of all outputs below it."""
    for name, path in files.items():
        yield name, path
        below = "" if name == EVERYTHING else f"{name.removesuffix('/')}/"
        for each in found:
            if each.startswith(below) and each not in STREAMS and each not in files:
                yield each, os.path.join(path, each[len(below) :])  # noqa: PTH118 - texts


def outputs_in(packed: IO[bytes], names: Iterable[str] | None, *, alone: bool) -> dict[str, list[Part]]:
    """Return where a tar has the outputs of its local jobs, by their names; all, or only these names.

    `alone` says that the tar is of one run of one program.
    """
    wanted = None if names is None else set(names)
    found, ends = dict[str, list[Part]](), dict[str, list[Part]]()
    for member in _members(packed):
        if (matched := MEMBER.fullmatch(member.name)) and (alone or matched[2] != ".killed"):
            part = Part(int(matched[1]), member.offset_data, member.size, bool(member.mode & 0o100))
            is_end = END.fullmatch(matched[3])
            if is_end or wanted is None or matched[3] in wanted:
                (ends if is_end else found).setdefault(matched[3], []).append(part)
    for name, parts in ends.items():
        _add_ends(found, name, parts, wanted)
    return found


def _add_ends(found: dict[str, list[Part]], name: str, parts: Iterable[Part], wanted: Container[str] | None) -> None:
    """Add ends of a stream; if a local job has the whole stream, its program has given this name to another output."""
    stream = name.partition(".")[0]
    whole = {part.n for part in found.get(stream, ())}
    for part in parts:
        belongs = name if part.n in whole else stream
        if wanted is None or belongs in wanted:
            found.setdefault(belongs, []).append(part)
            found[belongs].sort()


def _members(packed: IO[bytes]) -> Iterator[tarfile.TarInfo]:
    packed.seek(0)
    try:
        for member, _ in headers(packed):
            yield member
    except tarfile.TarError as error:
        raise JimError(f"{packed.name} is no whole tar: {error}") from error


def contents(packed: IO[bytes], parts: Iterable[Part]) -> Iterator[bytes]:
    """Yield the contents of parts of a tar, one after the other."""
    for each in parts:
        yield from _read(packed, each.at, each.size)


def _read(file: IO[bytes], at: int, size: int) -> Iterator[bytes]:
    file.seek(at)
    for left in range(size, 0, -BLOCK):
        yield file.read(min(left, BLOCK))


def write(
    opener: Opener, directory: str, path: str, content: Iterable[bytes], mode: int = MODE, *, durable: bool = True
) -> None:
    """Write a file below the directory of a job; its name appears once the file is whole. No link leads elsewhere."""
    try:
        with directory_below(directory, path, partial(opener.require_place, path=path)) as (at, name):
            _write_at(at, name, content, mode, durable=durable)
    except OSError as error:
        error.filename = path  # errors of an open file carry no name
        raise


def _write_at(at: int, name: str, content: Iterable[bytes], mode: int, *, durable: bool) -> None:
    draft = f".{cut(name)}.jim"
    with suppress(FileNotFoundError):
        os.unlink(draft, dir_fd=at)  # of a keeper that was killed; a payload may have left a pipe, which hangs
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=at), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.writelines(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.rename(draft, name, src_dir_fd=at, dst_dir_fd=at)
    except OSError:
        with suppress(OSError):
            os.unlink(draft, dir_fd=at)
        raise

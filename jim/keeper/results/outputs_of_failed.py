"""Adds to the tar what failed and killed local jobs have left, in folders `G.n.failed/` and `G.n.killed/`.

What the exit record names must still match the record. Without a record nothing tells whether a file is whole, so only
the ends of stdout and stderr are added, and called unverified. The files of an attempt without a verdict are left
alone: it may still run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from jim.errors import JimError
from jim.evidence.exit_record import Output, read_exit_record
from jim.files import passes, patiently
from jim.jobs import Attempt, Ended, GridJob
from jim.statusdb.store import Store
from jim.workdir.pinned import link_above
from jim.workdir.submission import submission_directory
from jim.workdir.tar import Tar
from jim.workdir.verified import is_executable, open_inside, verified

STREAMS = ("stdout", "stderr")
MOST_UNVERIFIED = 1024 * 1024  # bytes of each, from its end: there it says what went wrong
TRIES = 3  # of the whole tar, where a file server does not answer; then a file that cannot be read is left out


class Unfinished:
    """What the failed and killed local jobs of one grid job have left."""

    def __init__(self, tar: Tar, store: Store, place: Path, job: GridJob) -> None:
        """Take the tar to fill, and the directory of the grid job."""
        self._tar, self._store, self._place, self._job = tar, store, place, job
        self.count = 0  # local jobs of which the tar has anything

    def add(self, ended: Ended) -> dict[str, Any]:
        """Add what the last attempt that ran has left; return what `jim/summary.json` tells of that."""
        attempt = self._store.last_run(self._job.id, ended.n) if ended.attempt else None
        if attempt is None:
            return {}
        folder = f"{self._job.id}.{ended.n}.{ended.state}"
        entry: dict[str, Any] = {"attempt": attempt.attempt, "verified": [], "unverified": {}, "left_out": []}
        for name, add in self._files(folder, attempt, entry):
            try:
                add()
            except JimError as error:
                if link := link_above(submission_directory(self._place, attempt.k) / f"run.{attempt.idx}"):
                    raise link from error
                if isinstance(error.__cause__, OSError) and passes(error.__cause__) and self._job.tries < TRIES:
                    raise error.__cause__ from None
                entry["left_out"].append(f"{name}: {error}")
        found = bool(entry["verified"] or entry["unverified"])
        self.count += found
        return {"left": folder if found else "", "left_by": entry}

    def _files(self, folder: str, attempt: Attempt, entry: dict[str, Any]) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield each file that may be added, with the way to do so."""
        directory = submission_directory(self._place, attempt.k)
        if not attempt.verdict:
            entry["left_out"].append("everything: the attempt may still run")
        elif attempt.record:
            for output in read_exit_record(attempt.record).files:
                run = directory / f"run.{attempt.idx}"
                yield output.name, partial(self._add, folder, run, output, entry["verified"])
        else:
            for name in STREAMS:
                path = f"s{attempt.k}/run.{attempt.idx}/{name}"
                yield name, partial(self._add_end, folder, self._place, path, entry["unverified"])

    def _add(self, folder: str, run: Path, output: Output, entry: list[str]) -> None:
        content, executable = as_own(verified(run, output)), is_executable(run, output)
        self._tar.add(f"{folder}/{output.name}", output.size, content, executable=executable)
        entry.append(output.name)

    def _add_end(self, folder: str, directory: Path, path: str, entry: dict[str, int]) -> None:
        try:
            size, last = patiently(partial(_end_of, directory, path))
        except FileNotFoundError:
            return
        except OSError as error:
            raise JimError(error.strerror) from error
        name = f"{Path(path).name}.unverified"
        self._tar.add(f"{folder}/{name}", len(last), [last])
        entry[name] = size


def as_own(content: Iterator[bytes]) -> Iterator[bytes]:
    """Pass on the content of a file; an error of this file is not one of the tar, which may meet a full disk."""
    try:
        yield from content
    except OSError as error:
        raise JimError(error.strerror) from error


def _end_of(directory: Path, path: str) -> tuple[int, bytes]:
    """Return the size of a file, and its end."""
    with os.fdopen(open_inside(directory, path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - MOST_UNVERIFIED))
        return size, file.read(MOST_UNVERIFIED)

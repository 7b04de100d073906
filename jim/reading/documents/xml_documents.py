"""The XML documents of the site and of jobs, written to files without a name before anybody reads them.

A document is written at the pace of the store and then sent from the file: a slow reader never holds up the store.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import IO, Any, NamedTuple

from jim import __version__
from jim.errors import JimError
from jim.reading.site.site_view import health, unfinished_counts
from jim.reading.view import View
from jim.statusdb.documents import writing, xml_text
from jim.statusdb.task_rows import Task

LEAST_FREE = 10**9  # bytes
LOOK_BYTES = 32 * 1024 * 1024  # between two looks at the room that is left
LARGEST_WHOLE = 100_000_000  # bytes of a document whose tree is built


EVERY = "*"  # all tasks, and no grid jobs


class TooLarge(JimError):
    """A document is larger than its reader can take."""


class Of(NamedTuple):
    """What a document shows: a grid job, a local job, several grid jobs, a task, all tasks, or (nothing) the site."""

    grids: tuple[int, ...] = ()
    n: int | None = None
    task: str = ""  # its name, or EVERY

    @property
    def one(self) -> bool:
        """Tell whether the document is that of one job or task, not a document of the site."""
        return len(self.grids) == 1 or self.task not in ("", EVERY)


def write(view: View, of: Of, out: Any) -> None:
    """Write a document."""
    store, strict = view.store, view.site.site.strict_status
    if not of.one:
        numbers, tasks = grid_jobs_of(view, of), tasks_of(view, of)
        writing.write_site(store, _about(view, len(numbers), len(tasks)), numbers, out, tasks=tasks, strict=strict)
    elif of.task:
        writing.write_task(store, tasks_of(view, of)[0], out)
    elif of.n is None:
        writing.write(store, of.grids[0], out, strict=strict)
    else:
        out.write(writing.of_local_job(store, of.grids[0], of.n))


def grid_jobs_of(view: View, of: Of) -> list[int]:
    """Return the grid jobs in a document."""
    return [] if of.task else sorted(set(of.grids)) or view.store.numbers.all()


def tasks_of(view: View, of: Of) -> list[Task]:
    """Return the tasks in a document."""
    if of.task not in ("", EVERY):
        return [view.store.tasks.named(of.task)]
    return [] if of.grids else view.store.tasks.all()


def _about(view: View, count: int, tasks: int) -> dict[str, dict[str, object]]:
    """Return what the document of the site begins with."""
    seen, now = health(view), view.now()
    keeper = "at work" if seen.heart.at_work else "not at work" if seen.unfinished else "at rest"
    told = {"keeper": keeper, "batch_system": seen.system, "answered": seen.seen, "trouble": seen.trouble.words}
    counts = {state.value: count for state, count in unfinished_counts(view).items()}
    site: dict[str, object] = {
        "name": view.site.site.name,
        "version": __version__,
        **xml_text.changed(now),
        "grid_jobs": count,
        "tasks": tasks,
    }
    return {"site": site, "health": {"fresh": "no" if seen.stale else "yes", **told}, "counts": {**counts}}


def written(view: View, of: Of, most: int | None = None) -> IO[bytes]:
    """Write a document to an unnamed file, of at most so many bytes; return the file, at its end."""
    return unnamed(partial(write, view, of), most)


def unnamed(fill: Callable[[Any], None], most: int | None = None) -> IO[bytes]:
    """Return an unnamed file that a function has filled."""
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile(prefix="jim-"))
        _require_room(file)
        fill(_Guarded(file, most))
        file.flush()
        _require_room(file)
        stack.pop_all()  # the caller closes the file
        return file


class _Guarded:
    """A file that neither fills its disk nor becomes too large."""

    def __init__(self, file: IO[bytes], most: int | None) -> None:
        self.file, self._most, self._size, self._look = file, most, 0, LOOK_BYTES

    def write(self, content: bytes) -> int:
        """Write, if the content may be written."""
        self._size += len(content)
        if self._most is not None and self._size > self._most:
            raise TooLarge(f"the document has more than {self._most:,} bytes")
        if self._size > self._look:
            self._look = self._size + LOOK_BYTES
            _require_room(self.file)
        return self.file.write(content)


def _require_room(file: IO[bytes]) -> None:
    about = os.fstatvfs(file.fileno())
    if about.f_bavail * about.f_frsize < LEAST_FREE:
        raise JimError(
            "the disk on which the document would be written is nearly full: JIM leaves 1 GB free there; make room, or "
            "set TMPDIR to a directory on another disk"
        )

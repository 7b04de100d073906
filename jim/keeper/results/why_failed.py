"""Finds out more about local jobs that have failed: the last line that they have written, and inputs that are gone.

Both are words for people and decide nothing: they are read after the verdict, by workers, as payloads and file servers
of users may do what they want. What is under way is kept in memory; a restart reads it again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from jim.errand import Errand
from jim.errors import JimError
from jim.evidence.last_lines import last_line, shared
from jim.files import held, open_regular
from jim.jobs import GridJob, LocalJob
from jim.keeper.keeper import Keeper
from jim.keeper.results import missing_inputs
from jim.keeper.workers import NEVER
from jim.model import Kind, State
from jim.statusdb.list_filters import LastLine

AT_ONCE, READ_EACH, MOST_REASONS, MOST_FILES = 200, 20, 20, 100
TAIL_BYTES = 4096
PAUSE_SECONDS = 1.0


@dataclass
class _Course:
    """How far the failed local jobs of one grid job were looked at."""

    seq: int = 0  # of the journal
    lines: dict[str, list[str]] = field(default_factory=dict)  # what was read, by reason


class _Wanted(NamedTuple):
    """A failed local job, and what to look for."""

    local: LocalJob
    stderr: tuple[Path, str, str] | None = None  # the directories and the name
    files: tuple[str, ...] = ()
    seen: frozenset[str] = frozenset()  # those that have certainly been there


class WhyFailed:
    """The move that asks, after local jobs of a grid job have failed, what they have said and what they lacked."""

    def __init__(self) -> None:
        self._courses: dict[int, _Course] = {}

    def __call__(self, keeper: Keeper, job: GridJob) -> float:
        """Let workers look at some local jobs that have failed since the last time."""
        key = "why failed", job.id
        if not keeper.store.counts(job.id).get(State.FAILED) or keeper.workers.busy(key):
            return NEVER
        if not keeper.workers.ready(key):
            return keeper.workers.due(key)
        course = self._courses.setdefault(job.id, _Course())
        failed = keeper.store.last_lines.failed_after(job.id, course.seq, AT_ONCE)
        if not failed:
            return NEVER
        wanted = list(_wanted(keeper, job, course, dict.fromkeys(n for _, n in failed)))
        course.seq = failed[-1][0]
        if not wanted:
            return keeper.clock.boot()  # there may be more
        looked = partial(self._looked, keeper, job, course)
        # Where users keep files, a server may hang: such a look holds up nothing else.
        return keeper.workers.start(Errand(key, partial(_look, wanted), looked, _lost, source=True, grid=job.id))

    def _looked(
        self, keeper: Keeper, job: GridJob, course: _Course, found: Sequence[tuple[_Wanted, str, list[str]]]
    ) -> None:
        new: dict[str, LastLine] = {}
        for wanted, line, gone in found:
            if line and not gone:
                lines = course.lines.setdefault(wanted.local.reason, [])
                lines.append(line)
                new[wanted.local.reason] = LastLine(*shared(lines), len(lines))
        with keeper.store.transaction():
            missing_inputs.name(
                keeper, job, {wanted.local.n: (wanted.local, gone) for wanted, _, gone in found if gone}
            )
            if new:
                keeper.store.last_lines.put(job.id, new)
        keeper.workers.wait(("why failed", job.id), PAUSE_SECONDS)


def _lost(_: BaseException) -> None:
    """Do without: these are words only."""


def _wanted(keeper: Keeper, job: GridJob, course: _Course, numbers: Mapping[int, None]) -> Iterator[_Wanted]:
    """Yield what to look for: of a few local jobs for each reason the last line, of all their inputs."""
    chosen: dict[str, int] = {}
    own = job.is_of_task or not job.realm  # whoever names others' files must not learn which of them exist
    seen = missing_inputs.files_of_tasks(keeper, job, numbers)
    for n in numbers:
        local = keeper.store.local_job(job.id, n)
        if local.state is not State.FAILED:
            continue
        paths = [each for each in local.piece.files if each.startswith("/")] if own and local.kind is Kind.EXIT else []
        read = len(course.lines.get(local.reason, ())) + chosen.get(local.reason, 0)
        known = read or len(course.lines.keys() | chosen.keys()) < MOST_REASONS
        stderr = _stderr(keeper, job, n) if known and read < READ_EACH else None
        if stderr:
            chosen[local.reason] = chosen.get(local.reason, 0) + 1
        if stderr or paths:
            yield _Wanted(local, stderr, tuple(paths[:MOST_FILES]), seen.get(n, frozenset()))


def _stderr(keeper: Keeper, job: GridJob, n: int) -> tuple[Path, str, str] | None:
    attempt = keeper.store.last_run(job.id, n)
    return (keeper.directory(job.id), f"s{attempt.k}", f"run.{attempt.idx}") if attempt else None


# In a worker


def _look(wanted: Sequence[_Wanted]) -> list[tuple[_Wanted, str, list[str]]]:
    return [(each, _tail(*each.stderr) if each.stderr else "", list(_gone(each))) for each in wanted]


def _gone(wanted: _Wanted) -> Iterator[str]:
    return (path for path in wanted.files if is_gone(Path(path), seen=path in wanted.seen))


def _tail(place: Path, submission: str, run: str) -> str:
    """Return the last line of a payload's stderr; follow no link, and take nothing but a file for it."""
    with suppress(OSError, JimError), held(place) as above, held(above / submission) as sent, held(sent / run) as own:
        descriptor = open_regular(own / "stderr")
        try:
            size = os.fstat(descriptor).st_size
            return last_line(os.pread(descriptor, TAIL_BYTES, max(0, size - TAIL_BYTES)))
        finally:
            os.close(descriptor)
    return ""


def is_gone(path: Path, *, seen: bool) -> bool:
    """Tell whether a file is certainly not there; a server that is away proves nothing.

    A name that begins with / may be one of a catalogue. So a file that nobody has seen counts as gone only if the
    directory is there which should have it.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return seen or (path.parent != path.parent.parent and path.parent.is_dir())
    except (OSError, ValueError):
        return False
    return False

"""The progress that payloads publish, added up over the local jobs of a grid job."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from jim.errors import JimError
from jim.jobs import GridJob
from jim.reading.view import View
from jim.request import handler_of
from jim.statusdb.list_filters import PhaseSeen
from jim.statusdb.published import OF_ALL

EVENTS = "events"


class Phase(NamedTuple):
    """The progress of one phase, over the latest attempts of all local jobs that have begun the phase."""

    name: str
    done: int
    total: int
    unit: str
    local_jobs: int  # 0: published for the grid job itself
    not_begun: int = 0  # local jobs
    planned: int | None = None  # events of all local jobs, by their pieces; None: the total says it
    updated: str = ""  # of the newest publication
    attempt: int = 0  # of one local job
    late: bool = False  # published after the verdict on that attempt

    def words(self) -> str:
        """Return the progress in words."""
        return f"{self.name} {self.done:,} of {self.total:,} {self.unit}"

    def beside(self) -> str:
        """Return how many local jobs have not begun the phase, and what is planned, in words."""
        if not self.not_begun:
            return ""
        planned = f" ({self.planned:,} {self.unit} planned in all)" if self.planned is not None else ""
        return f"{self.not_begun:,} {'has' if self.not_begun == 1 else 'have'} not begun{planned}"


def phases(view: View, job: GridJob, n: int | None = None) -> list[Phase]:
    """Return the phases of a grid job, or of one local job, in the order that the job type declares."""
    order: tuple[str, ...] = ()
    with suppress(JimError, OSError):  # the job type may no longer be installed
        order = handler_of(job.job_type, view.site.site.handlers).phases
    place = {name: number for number, name in enumerate(order)}
    found = (
        _added_up(view, job) if n is None else [_phase(each) for each in view.store.publications.phases_of(job.id, n)]
    )
    return sorted(found, key=lambda phase: place.get(phase.name, len(place)))


def _added_up(view: View, job: GridJob) -> list[Phase]:
    found = view.store.publications.phases(job.id)
    planned = view.store.publications.events(job.id) if _lacks_some(job, found) else 0
    of_all = [_of_all(each, job, planned) for each in found]
    return [*of_all, *(_phase(each) for each in view.store.publications.phases_of(job.id, OF_ALL))]


def _lacks_some(job: GridJob, found: Sequence[PhaseSeen]) -> bool:
    return any(each.unit == EVENTS and each.local_jobs < job.size for each in found)


def _of_all(seen: PhaseSeen, job: GridJob, planned: int) -> Phase:
    left = max(0, job.size - seen.local_jobs)
    by_pieces = planned if left and seen.unit == EVENTS and planned else None
    return _phase(seen)._replace(not_begun=left, planned=by_pieces)


def _phase(seen: PhaseSeen) -> Phase:
    told = seen.name, seen.done, seen.total, seen.unit, seen.local_jobs
    return Phase(*told, updated=seen.updated, attempt=seen.attempt, late=bool(seen.late))

"""Lets people know their grid jobs in a list: a name, since when there is one, and how long it took."""

from __future__ import annotations

from collections.abc import Iterable

from jim.clock import age_seconds
from jim.jobs import GridJob
from jim.model import Step
from jim.reading.quantities import largest
from jim.reading.view import View
from jim.statusdb.list_filters import LONGEST_PARSED

UNREAD = "{}"  # the request of a grid job in a list


def name_of(job: GridJob) -> str:
    """Return the name of a grid job, else that of its program; only for who may read requests. Empty: it has none."""
    if len(job.request_text) > LONGEST_PARSED:
        return job.name
    return _named(job.name, job.request.get("executable"))


def names_of(view: View, jobs: Iterable[GridJob]) -> dict[int, str]:
    """Return the names of the grid jobs of a list, which may lack their requests; a very large one gives none."""
    names = {job.id: name_of(job) for job in jobs if job.request_text != UNREAD}
    unread = [job.id for job in jobs if job.id not in names]
    return names | {grid: _named(*told) for grid, told in view.store.seen.names(unread, LONGEST_PARSED).items()}


def _named(name: object, program: object) -> str:
    given = program.rstrip("/").rpartition("/")[2] if isinstance(program, str) else ""
    return name if isinstance(name, str) and name else given


def age(view: View, job: GridJob) -> str:
    """Return since when there is a grid job, in its largest unit."""
    return largest(view.age(job.created))


def took(job: GridJob) -> str:
    """Return how long a grid job took from the request to its end; empty while it is unfinished."""
    return largest(age_seconds(job.created, job.updated)) if job.step is Step.FINISHED else ""

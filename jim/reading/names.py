"""Lets people know their grid jobs in a list: a name, since when there is one, and how long it took."""

from __future__ import annotations

from jim.clock import age_seconds
from jim.jobs import GridJob
from jim.model import Step
from jim.reading.quantities import largest
from jim.reading.view import View

LONGEST_PARSED = 64 * 1024  # characters of a request: a list must not parse megabytes for a name


def name_of(job: GridJob) -> str:
    """Return the name of a grid job, else that of its program; only for who may read requests. Empty: it has none."""
    if job.name or len(job.request_text) > LONGEST_PARSED:
        return job.name
    program = job.request.get("executable") or ""
    return str(program).rstrip("/").rpartition("/")[2] if isinstance(program, str) else ""


def age(view: View, job: GridJob) -> str:
    """Return since when there is a grid job, in its largest unit."""
    return largest(view.age(job.created))


def took(job: GridJob) -> str:
    """Return how long a grid job took from the request to its end; empty while it is unfinished."""
    return largest(age_seconds(job.created, job.updated)) if job.step is Step.FINISHED else ""

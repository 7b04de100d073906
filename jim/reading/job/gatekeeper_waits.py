"""Explains what a grid job waits for at its gatekeeper: the grid job of its key before, or a place for its outputs."""

from __future__ import annotations

from collections.abc import Iterator

from jim.errors import UnknownJob
from jim.jobs import PLACED, GridJob
from jim.model import Step
from jim.reading.before_submission import Wait
from jim.reading.view import View


def earlier(view: View, job: GridJob) -> Iterator[Wait]:
    """Tell of the grid job that had the key before, if it has not finished."""
    after = view.store.at_doors.of(job.id).after
    try:
        finished = not after or view.store.grid_job(after).step is Step.FINISHED
    except UnknownJob:
        return
    if not finished:
        what = f"its gatekeeper has cancelled grid job {after} and submitted it once more, as this one"
        yield Wait(what, f"nothing is sent before {after} has finished; `jim explain {after}` says what that waits for")


def outputs(view: View, job: GridJob) -> Iterator[Wait]:
    """Tell of outputs that are not where the gatekeeper takes them from."""
    kept = view.store.at_doors.of(job.id)
    if kept.waits:
        place = kept.places.get("directory")
        what = f"its outputs are not yet in {place}, where its gatekeeper takes them from"
        yield Wait(what, f"JIM tries for an hour, and only then tells the end; `jim show {job.id}` has the reason")
    elif kept.placed not in ("", PLACED):
        yield Wait(kept.placed, "its gatekeeper was told that it has failed; the tar is still there")

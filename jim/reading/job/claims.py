"""Reads the claims of running local jobs, which a living wrapper touches regularly; names batch jobs and carriers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from jim.jobs import Attempt, GridJob, LocalJob
from jim.model import State, SubmissionState
from jim.reading.before_submission import Wait, many
from jim.reading.quantities import how_many, span
from jim.reading.view import View
from jim.workdir.submission import submission_directory

ROOM = " has room: a carrier is a batch job that runs several local jobs"


def running(view: View, local: LocalJob) -> Attempt | None:
    """Return the current attempt of a local job, if it has started."""
    found = view.store.attempts(local.grid, n=local.n)
    return next((each for each in found if each.attempt == local.attempt and each.started), None)


def age(view: View, attempt: Attempt) -> float | None:
    """Return the time since a claim was touched; None if the claim cannot be seen."""
    return _ages(view, [attempt])[0]


def _ages(view: View, attempts: Sequence[Attempt]) -> list[float | None]:
    """Return the ages of claims; all are looked at in one read."""
    places = {each.grid: view.directory(each.grid) for each in attempts}
    claims = [submission_directory(places[each.grid], each.k) / f"claim.{each.idx}" for each in attempts]
    with suppress(OSError):
        return view.disk(lambda: [_age(claim) for claim in claims])
    return [None] * len(claims)


def _age(claim: Path) -> float | None:
    with suppress(OSError):
        return max(0.0, time.time() - claim.stat().st_mtime)
    return None


def silent(view: View, asked: Sequence[LocalJob]) -> Iterator[Wait]:
    """Report local jobs that the batch system lists as running although their claims are not touched."""
    started = [running(view, each) for each in asked if each.state is State.RUNNING]
    attempts = [each for each in started if each]
    ages = [(age or 0.0, each) for age, each in zip(_ages(view, attempts), attempts, strict=True)]
    found = [(silence, each) for silence, each in ages if silence > view.site.batch.silent_seconds]
    if found:
        silence, first = max(found, key=lambda each: each[0])
        alone = len(found) == 1
        them, own, end = ("it", "its claim", "its end") if alone else ("them", "their claims", "their ends")
        longest = f"{first.grid}.{first.n} on {first.host} for {span(silence)}"
        yield Wait(
            f"{many(len(found), 'have', 'has')} not touched {own}, though the batch system lists {them} "
            f"as running: {longest}",
            f"JIM waits until the batch system reports {end}, then tries again; have the node checked",
            "claim",
        )


def batch_job(view: View, local: LocalJob) -> str:
    """Name the batch job of the current attempt, or those of which one will run it."""
    submission = view.store.submission(local.grid, local.submission or 0)
    if submission is None or not submission.batch_id:
        return ""
    name = f"batch job {submission.batch_id}"
    if not submission.carriers:
        return f", {name}"
    mine = running(view, local)
    if mine and mine.carrier:
        return f", carrier {mine.carrier} of {name}"
    turn = " in" if local.state is State.SUBMITTED else ", for"
    return f"{turn} any of the {how_many(submission.carriers, 'carrier')} of {name}"


def or_turn(view: View, job: GridJob, count: int) -> str:
    """Say that local jobs may also wait for one another: in carriers, of which some may run."""
    carriers = sum(each.carriers for each in view.store.submissions(SubmissionState.CONFIRMED, grid=job.id))
    turn = "its turn" if count == 1 else "their turn"
    return f", or for {turn} in {'one of ' * (carriers > 1)}{how_many(carriers, 'carrier')}" if carriers else ""

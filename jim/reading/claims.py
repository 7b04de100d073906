"""What the claims of running local jobs tell: a wrapper that lives touches its own once in a while."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from jim.jobs import Attempt, LocalJob
from jim.model import State
from jim.reading.before_submission import Wait, many
from jim.reading.quantities import span
from jim.reading.view import View
from jim.workdir.submission import submission_directory


def running(view: View, local: LocalJob) -> Attempt | None:
    """Give the attempt that a local job is at, if it has started."""
    found = view.store.attempts(local.grid, n=local.n)
    return next((each for each in found if each.attempt == local.attempt and each.started), None)


def age(view: View, attempt: Attempt) -> float | None:
    """Tell how long ago its claim was touched; nothing where the claim is not to be seen."""
    claim = submission_directory(view.directory(attempt.grid), attempt.k) / f"claim.{attempt.idx}"
    with suppress(OSError):
        return max(0.0, time.time() - claim.stat().st_mtime)
    return None


def silent(view: View, asked: Sequence[LocalJob]) -> Iterator[Wait]:
    """Tell of those that the batch system takes for running though their claims are no longer touched."""
    attempts = [running(view, each) for each in asked if each.state is State.RUNNING]
    ages = [(age(view, each) or 0.0, each) for each in attempts if each]
    found = [(silence, each) for silence, each in ages if silence > view.site.batch.silent_seconds]
    if found:
        silence, first = max(found, key=lambda each: each[0])
        them, end = ("it", "its end") if len(found) == 1 else ("them", "their ends")
        longest = f"{first.grid}.{first.n} on {first.host} for {span(silence)}"
        yield Wait(
            f"{many(len(found), 'have', 'has')} given no sign of life, though the batch system calls {them} running:"
            f" {longest}",
            f"JIM waits until the batch system tells {end}, then tries again; have the node looked after",
            "claim",
        )

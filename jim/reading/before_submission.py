"""What local jobs wait for that are not sent yet: the throttle, their next attempt, a person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jim.jobs import GridJob, LocalJob
from jim.model import IN_BATCH, State, Verb
from jim.reading.quantities import span
from jim.reading.view import View
from jim.workdir import credentials

LOOKED_AT = 1000  # waiting local jobs of which the next one due is searched


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing that is waited for."""

    what: str
    next: str
    witness: str = "keeper"
    seen: str = ""  # when the witness said so; empty: just now, by reading the store


def many(count: int, words: str, of_one: str) -> str:
    """Say something of one local job, or of many."""
    return f"1 local job {of_one}" if count == 1 else f"{count:,} local jobs {words}"


def waiting(view: View, job: GridJob) -> Iterator[Wait]:
    """Say why waiting local jobs wait."""
    count = view.store.counts(job.id).get(State.WAITING, 0)
    if not count or job.wish in (Verb.CANCEL, Verb.SUSPEND):
        return
    held = view.store.held(job.id)
    if held:
        yield _held(job, held)
        count -= len(held)
        if not count:
            return
    lapsed = credentials.expired(view.directory(job.id), credentials.now())
    if lapsed:
        yield Wait(f"{many(count, 'wait', 'waits')} to be sent: {lapsed}", "they go once it is renewed, under its path")
        return
    throttled = _throttle(view, job)
    if throttled:
        yield Wait(f"{many(count, 'wait', 'waits')} to be sent: {throttled}", "the next go as soon as others end")
        return
    if view.store.local_jobs(job.id, (State.WAITING,), limit=1, due=view.store.clock.steady()):
        then = (
            "they go when the batch system answers again"
            if view.published.trouble.words
            else "sent in the keeper's next rounds"
        )
        yield Wait(f"{many(count, 'wait', 'waits')} to be sent", then)
        return
    yield _first_of_many(view, job, count)


def _first_of_many(view: View, job: GridJob, count: int) -> Wait:
    later = min(view.store.local_jobs(job.id, (State.WAITING,), limit=LOOKED_AT), key=lambda each: each.due)
    return Wait(
        f"{many(count, 'wait', 'waits')} for the next attempt",
        f"{job.id}.{later.n} in {span(view.due_in(later.due))}, after {later.reason}",
        later.witness,
        later.updated,
    )


def _held(job: GridJob, held: list[LocalJob]) -> Wait:
    first = held[0]
    here = f"{job.id}.{first.n}" if len(held) == 1 else str(job.id)
    return Wait(
        f"{many(len(held), 'are', 'is')} held by JIM, {job.id}.{first.n} for one: {first.reason}",
        f"nothing by itself; `jim retry {here}` tries again, `jim cancel {here}` ends it",
        first.witness,
        first.updated,
    )


def _throttle(view: View, job: GridJob) -> str:
    """Say which limit of the site holds sending up."""
    limits, queued = view.site.limits, view.store.in_batch()
    if queued >= limits.queued:
        return f"throttle: {queued:,} in the queue of {limits.queued:,} allowed"
    counts = view.store.counts(job.id)
    mine = sum(counts.get(state, 0) for state in IN_BATCH)
    if mine >= limits.queued_per_grid_job:
        return f"throttle: {mine:,} of this grid job in the queue of {limits.queued_per_grid_job:,} allowed"
    return ""


def next_attempt(view: View, job: GridJob, local: LocalJob) -> Iterator[Wait]:
    """Say what a local job waits for that is not sent."""
    left = view.due_in(local.due)
    if local.held:
        yield _held(job, [local])
    elif left:
        spent = f"attempt {local.attempt + 1} ({local.spent} of {view.site.limits.attempts} spent)"
        yield Wait(
            f"waits for its next attempt, after {local.reason}",
            f"{spent}, in {span(left)}",
            local.witness,
            local.updated,
        )
    else:
        yield from waiting(view, job)

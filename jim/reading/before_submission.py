"""Why local jobs are not submitted yet: a limit, a due time of the next attempt, or a person's decision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from jim.jobs import GridJob, LocalJob, Submission
from jim.model import State, Verb
from jim.reading.quantities import span, spent_words
from jim.reading.throttle import Throttle
from jim.reading.view import View
from jim.statusdb.grid.first_attempts import PAUSE_SECONDS, TRIED_AT_MOST
from jim.workdir import credentials

LOOKED_AT = 1000  # number of waiting local jobs in which the next due one is searched


class Wait(NamedTuple):
    """One thing that a job waits for, and what happens next."""

    what: str
    next: str
    witness: str = "keeper"
    seen: str = ""  # time of the evidence; empty: just now, from the store


def many(count: int, words: str, of_one: str) -> str:
    """Return words about one local job, or about many."""
    return f"1 local job {of_one}" if count == 1 else f"{count:,} local jobs {words}"


def waiting(view: View, job: GridJob) -> Iterator[Wait]:
    """Explain why waiting local jobs are not submitted."""
    yield from without_room(view)
    count = view.store.counts(job.id).get(State.WAITING, 0)
    if not count or job.wish in (Verb.CANCEL, Verb.SUSPEND):
        return
    held = view.store.held(job.id)
    if held:
        yield _held(job, held)
        count -= len(held)
        if not count:
            return
    lapsed = _lapsed(view, job)
    if lapsed:
        yield Wait(
            f"{many(count, 'wait', 'waits')} to be submitted: {lapsed}",
            "the keeper submits when the file at its path is renewed",
        )
        return
    throttled = Throttle(view).words(job)
    if throttled:
        yield Wait(
            f"{many(count, 'wait', 'waits')} to be submitted: {throttled}",
            "the keeper submits as soon as others end",
        )
        return
    if view.store.local_jobs(job.id, (State.WAITING,), limit=1, due=view.store.clock.steady()):
        yield Wait(f"{many(count, 'wait', 'waits')} to be submitted", _when(view))
        return
    yield _first_of_many(view, job, count)


def _when(view: View) -> str:
    if any(stops for stops, _ in view.shortages()):
        return "the keeper submits when there is room on the disks"
    if view.unwritten():
        return "the keeper submits when JIM can write in the work directory again"
    if view.published.trouble.words:
        return "the keeper submits when the batch system answers again"
    return "the keeper submits in its next rounds"


def unwritten(view: View, submission: Submission, name: str) -> Wait:
    """Tell what JIM cannot write in the work directory."""
    todo = f"see that JIM can write below {view.site.work}, and that there is room on its disk"
    then = f"JIM tries again in {span(view.due_in(submission.due))}; {todo}"
    return Wait(f"JIM cannot write what {name} needs: {submission.reason}", then, seen=submission.updated)


def without_room(view: View) -> Iterator[Wait]:
    """Tell which disks have so little room that nothing is sent."""
    for stops, words in view.shortages():
        if stops:
            yield Wait(words, "JIM looks again every ten seconds, and goes on by itself once there is room")


def _first_of_many(view: View, job: GridJob, count: int) -> Wait:
    later = min(view.store.local_jobs(job.id, (State.WAITING,), limit=LOOKED_AT), key=lambda each: each.due)
    return Wait(
        f"{many(count, 'wait', 'waits')} for the next attempt{_held_back(view, job)}",
        f"{job.id}.{later.n} in {span(view.due_in(later.due))}, after {later.reason}",
        later.witness,
        later.updated,
    )


def _held(job: GridJob, held: list[LocalJob]) -> Wait:
    first = held[0]
    here = f"{job.id}.{first.n}" if len(held) == 1 else str(job.id)
    return Wait(
        f"{many(len(held), 'are', 'is')} held by JIM, for example {job.id}.{first.n}: {first.reason}",
        f"nothing happens by itself; `jim retry {here}` tries again, `jim cancel {here}` ends it",
        first.witness,
        first.updated,
    )


def _held_back(view: View, job: GridJob) -> str:
    """Return why further attempts wait longer than usual, and how long; empty: they do not."""
    if job.is_of_task or not view.store.first_attempts.held_back(job.id):
        return ""
    goes_on = f"until one ends well, or {TRIED_AT_MOST} have failed"
    return f"; most first attempts fail, so one goes every {span(PAUSE_SECONDS)} {goes_on}"


def _lapsed(view: View, job: GridJob) -> str:
    """Return which credential has expired; empty also if the work directory cannot be read just now."""
    place, now = view.directory(job.id), credentials.now()
    with suppress(OSError):
        return view.disk(lambda: credentials.expired(place, now))
    return ""


def next_attempt(view: View, job: GridJob, local: LocalJob) -> Iterator[Wait]:
    """Explain why a local job is not submitted."""
    left = view.due_in(local.due)
    if local.held:
        yield _held(job, [local])
    elif left:
        following = f"attempt {local.attempt + 1} ({spent_words(local.spent, view.site.limits.attempts)})"
        what = f"waits for its next attempt, after {local.reason}{_held_back(view, job)}"
        yield Wait(what, f"{following}, in {span(left)}", local.witness, local.updated)
    else:
        yield from waiting(view, job)

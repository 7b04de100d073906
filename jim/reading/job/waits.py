"""Explains what jobs wait for, on which evidence, and what happens next and when. All is read from the store."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from jim.evidence.transitions import again_of
from jim.jobs import UNDECIDED, GridJob, LocalJob, Submission, is_unwritten
from jim.model import FROZEN, Kind, State, Step, SubmissionState, Verb
from jim.reading import avoided
from jim.reading.before_submission import Wait, many, next_attempt, unwritten, waiting
from jim.reading.job import claims, gatekeeper_waits, queue_words, untaken_wishes
from jim.reading.job.as_known import as_known
from jim.reading.keeper_life import Heart
from jim.reading.quantities import ago, counted, how_many, span
from jim.reading.view import View
from jim.statusdb.seen.record import failures, retryable
from jim.work.sizing import left_to_catalogue

NOTES_TOLD = 5
LOOKED_AT = 1000  # number of running local jobs whose claims are read
QUEUED = {  # for several local jobs, and for one
    State.SUBMITTED: ("wait in the batch system's queue", "waits in the batch system's queue"),
    State.HELD: ("are held in the batch system", "is held in the batch system"),
    State.RUNNING: ("run", "runs"),
    State.SUSPENDED: ("are suspended in the batch system", "is suspended in the batch system"),
    State.COMPLETING: ("have ended; JIM will verify their outputs", "has ended; JIM will verify its outputs"),
}


def of_grid_job(view: View, job: GridJob) -> Iterator[Wait]:
    """Return what a grid job waits for, and what of it waits for a person."""
    yield from under_way(view, job)
    yield from _failed(view, job) if job.step in (Step.SPLIT, Step.ACTIVE) else ()


def under_way(view: View, job: GridJob) -> Iterator[Wait]:
    """Return what a grid job waits for by itself: nothing of what has failed."""
    if job.step is Step.FINISHED:
        yield _finished(view, job)
        yield from gatekeeper_waits.outputs(view, job)
        yield from untaken_wishes.wishes(view, job)
        return
    heart = view.heart()
    yield from _keeper(heart)
    yield from _wish(view, job)
    yield from gatekeeper_waits.earlier(view, job)
    if job.step in (Step.ACCEPTED, Step.RESOLVED):
        yield _preparing(view, job)
    elif job.step is Step.COLLECTING:
        yield _collecting(view, job)
    else:
        yield from as_known(view, heart, (*_batch_system(view, job), *_history(view, job)))
        yield from waiting(view, job)
        yield from as_known(view, heart, _in_the_batch_system(view, job))
        if heart.at_work:  # otherwise they may have ended long ago, with nobody to take that in
            yield from claims.silent(view, view.store.local_jobs(job.id, (State.RUNNING,), limit=LOOKED_AT))


def _in_the_batch_system(view: View, job: GridJob) -> Iterator[Wait]:
    for submission in sorted(view.store.submissions(*UNDECIDED, grid=job.id), key=attrgetter("k")):
        yield _sending(view, submission)
    yield from avoided.hosts(view)
    yield from _noted(view, job)
    yield from _queued(view, job)


def of_local_job(view: View, job: GridJob, local: LocalJob) -> Iterator[Wait]:
    """Return what a local job waits for."""
    if local.state.final:
        yield _ended(job, local)
        yield from untaken_wishes.wishes(view, job)
        return
    heart = view.heart()
    yield from _keeper(heart)
    yield from _wish(view, job)
    yield from as_known(view, heart, (*_batch_system(view, job), *_history(view, job)))
    if local.wish:
        yield Wait(
            f"a person asked to {local.wish} it",
            "JIM repeats it to the batch system until it sees the end",
            "user",
        )
    if local.state is State.WAITING:
        yield from next_attempt(view, job, local)
    elif local.state is State.SUBMITTING:
        submission = view.store.submission(job.id, local.submission or 0)
        if submission:
            yield from as_known(view, heart, [_sending(view, submission)])
    else:
        yield from as_known(view, heart, [_in_batch(view, job, local)])
        if heart.at_work:
            yield from claims.silent(view, [local])
    yield from avoided.spared(view, local)


# The grid job as a whole


def _finished(view: View, job: GridJob) -> Wait:
    left = view.site.keep.seconds(test=job.is_test) - view.age(job.updated)
    kept = f"JIM removes rows and files in {span(left)}" if left > 0 else "JIM removes rows and files soon"
    again = "" if job.outcome == State.COMPLETED.value or not (way := _again(view, job)) else f"; {way}"
    why = view.why(job)
    return Wait(f"finished as {job.outcome}{': ' if why else ''}{why}", f"{kept}{again}", seen=job.updated)


def _again(view: View, job: GridJob) -> str:
    """Name the way to do the work that a finished grid job has not done."""
    if not job.size:
        return "it has no local jobs: correct the request and submit it again"
    if states := {each.state for each in again_of(retryable(view.store, job.id), ())}:
        return f"`jim retry {job.id}` tries the {'killed' if states == {State.KILLED} else 'failed'} local jobs again"
    return "" if job.is_of_task else f"`jim recover {job.id}` writes a request for the work that can never run"


def _keeper(heart: Heart) -> Iterator[Wait]:
    if not heart.at_work:
        yield Wait(heart.words, f"{heart.next}; nothing happens until then", "heartbeat")


def _wish(view: View, job: GridJob) -> Iterator[Wait]:
    yield from untaken_wishes.wishes(view, job)
    counts = view.store.counts(job.id)
    there = counted((s.value, n) for s, n in counts.items() if s in QUEUED or s is State.SUBMITTING)
    if unsaid := view.published.unsaid.get(str(job.id)):
        yield Wait(
            f"JIM could not pass all of the request on to the batch system: {unsaid}",
            "JIM tries again, at least once a minute",
        )
    if job.wish == Verb.CANCEL:
        yield Wait(
            f"cancel was requested; still in the batch system: {there or 'nothing'}",
            "JIM repeats the cancel until it sees the end of each job, then collects the completed ones",
            "user",
        )
    elif job.wish == Verb.SUSPEND:
        moving = sum(counts.get(state, 0) for state in (State.RUNNING, State.COMPLETING, State.SUBMITTING))
        still = f"still running: {moving:,} of its local jobs" if moving else "none of its local jobs runs"
        yield Wait(f"suspended on request; {still}", f"`jim resume {job.id}` continues it", "user")
    elif job.wish:
        what = f"{job.wish} was requested; in the batch system: {there or 'nothing'}"
        yield Wait(what, "JIM repeats the request until it sees the effect", "user")


def _preparing(view: View, job: GridJob) -> Wait:
    what = f"the keeper still has to {'size it' if job.step is Step.ACCEPTED else 'split it into local jobs'}"
    unknown = left_to_catalogue(job.request)
    if unknown:
        what += f", after it asks the site's catalogue for {unknown}"
    if job.wish == Verb.SUSPEND:
        return Wait(what, f"the keeper continues after `jim resume {job.id}`")
    if job.tries:
        return Wait(f"{what}: {job.reason}", f"try {job.tries + 1} in {span(view.due_in(job.due))}", seen=job.updated)
    return Wait(what, "the keeper does this now or in its next round")


def _collecting(view: View, job: GridJob) -> Wait:
    if job.tries:
        due = span(view.due_in(job.due))
        return Wait(f"{job.reason or 'collecting failed'}", f"try {job.tries + 1} in {due}, repeated until it succeeds")
    return Wait("JIM collects its outputs into the tar", "it is finished when the tar is complete", seen=job.updated)


def _batch_system(view: View, job: GridJob) -> Iterator[Wait]:
    trouble, seen = view.published.trouble, view.seen() or job.updated
    if not trouble.words:
        return
    often = f" ({trouble.failures:,} in a row)" if trouble.failures else ""
    again = f"next question in {span(view.due_in(trouble.retry_due))}" if trouble.retry_due else "next question soon"
    yield Wait(
        f"the batch system has not answered for {span(view.age(seen))}{often}; last words: {trouble.words}",
        f"{again}, at growing intervals up to a minute; running jobs continue",
        "queue",
        seen,
    )


def _history(view: View, job: GridJob) -> Iterator[Wait]:
    trouble = view.published.history
    if trouble.words and job.id in trouble.grid_jobs:
        yield Wait(
            f"JIM could not find out how local jobs ended that left the queue ({trouble.failures:,} "
            f"failures in a row); last words: {trouble.words}",
            f"next question in {span(view.due_in(trouble.retry_due))}, at growing intervals; all else continues",
        )


# Submissions on their way


def _sending(view: View, submission: Submission) -> Wait:
    name = f"submission {submission.k} ({submission.size:,} local job{'s' * (submission.size != 1)})"
    due = span(view.due_in(submission.due))
    if submission.state in UNDECIDED[1:]:
        what, then = _given_up(submission, due)
        if submission.trouble:
            what, then = f"{what}; JIM cannot look for it: {submission.trouble}", f"JIM tries again in {due}"
        return Wait(f"{name}{what}", then, "submission", submission.updated)
    if is_unwritten(submission):
        return unwritten(view, submission, name)
    if submission.tries:
        then = f"JIM runs the batch command again in {due} (try {submission.tries + 1})"
        return Wait(f"{name} failed: {submission.reason}", then, "submission", submission.updated)
    then = f"JIM waits for the answer, at most {span(view.site.batch.command_seconds)}"
    return Wait(f"JIM submits {name} to the batch system", then, seen=submission.updated)


def _given_up(submission: Submission, due: str) -> tuple[str, str]:
    """Explain why a submission may never run, and what comes next."""
    fence = "JIM ensures that no attempt of it can start"
    return {
        SubmissionState.UNKNOWN: (
            f": outcome unknown: {submission.reason}",
            f"JIM looks for {submission.mark} again in {due}: it adopts the batch job, or fences it and submits again",
        ),
        SubmissionState.FULL: (
            f" exceeded a limit of the batch system: {submission.reason}",
            f"in {due} {fence}, then submits fewer local jobs at once",
        ),
        SubmissionState.REFUSED: (f" was refused: {submission.reason}", f"{fence}, then ends its local jobs as failed"),
        SubmissionState.CANCELLED: (
            " was cancelled before it was submitted",
            f"{fence}, then ends its local jobs as killed",
        ),
    }[submission.state]


def _noted(view: View, job: GridJob) -> Iterator[Wait]:
    """Report what listings say of queued or running jobs and what does not pass by itself."""
    found, _ = view.store.seen.reasons(job.id, (State.SUBMITTED, State.RUNNING), NOTES_TOLD)
    for each in found:
        if each.reason:
            in_vain = each.reason.kind is Kind.NEVER_STARTS
            then = _in_vain(view, str(job.id)) if in_vain else f"nothing; `jim show --all {job.id}` lists them"
            yield Wait(f"{how_many(each.times, 'local job')}: {each.reason}", then, "queue", view.seen() or job.updated)


def _in_vain(view: View, target: str) -> str:
    then = f"JIM gives it up once the batch system has said so for {span(view.site.limits.stuck_seconds)}"
    return f"{then}: have the site allow it before, or `jim cancel {target}` and submit a smaller request"


def _queued(view: View, job: GridJob) -> Iterator[Wait]:
    counts = view.store.counts(job.id)
    noted, _ = view.store.seen.reasons(job.id, (State.SUBMITTED,), NOTES_TOLD)
    in_vain = sum(each.times for each in noted if each.reason.kind is Kind.NEVER_STARTS)
    for state, words in QUEUED.items():
        count = counts.get(state, 0) - (in_vain if state is State.SUBMITTED else 0)
        if count > 0:
            why = queue_words.words(view, job, state)
            turn = claims.or_turn(view, job, count) if state is State.SUBMITTED else ""
            what = f"{many(count, *words)}{turn}{f': {why}' if why else ''}"
            then = _after(view, state, "a carrier" if turn else "")
            yield Wait(what, f"each {then}", _witness(state), view.seen() or job.updated)


def _failed(view: View, job: GridJob) -> Iterator[Wait]:
    if failed := view.store.counts(job.id).get(State.FAILED, 0):
        then = f"the others are not concerned; `jim retry {job.id}` gives the failed ones another set of attempts"
        yield Wait(f"{many(failed, 'have', 'has')} failed: {failures(view.store, job.id)}", then, seen=job.updated)


def _witness(state: State) -> str:
    return {State.COMPLETING: "exit record", State.RUNNING: "claim"}.get(state, "queue")


def _after(view: View, state: State, carrier: str = "") -> str:
    """Say when a local job goes on; one that is not a batch job of its own starts when a carrier has room."""
    asked = f"JIM queries the batch system every {view.site.batch.query_seconds:g} s"
    return {
        State.SUBMITTED: f"starts when {carrier + claims.ROOM if carrier else 'the batch system allows it'}; {asked}",
        State.HELD: f"starts when it is released; {asked}",
        State.RUNNING: f"ends with its exit record; {asked}",
        State.SUSPENDED: f"continues when it is resumed; {asked}",
        State.COMPLETING: "is verified in the keeper's next rounds",
    }[state]


# One local job


def _in_batch(view: View, job: GridJob, local: LocalJob) -> Wait:
    why = f" ({words})" if (words := local.reason or queue_words.words_for(view, job, local)) else ""
    vain, where = local.kind is Kind.NEVER_STARTS, claims.batch_job(view, local)
    turn = local.state is State.SUBMITTED and where.startswith(" in ")
    return Wait(
        f"{'waits for its turn' if turn else QUEUED[local.state][1]}{where}{_claim(view, local)}{why}",
        _in_vain(view, f"{local.grid}.{local.n}") if vain else f"it {_after(view, local.state, 'one' * turn)}",
        local.witness,
        max(view.seen(), local.updated),
    )


def _claim(view: View, local: LocalJob) -> str:
    """Return the host of the current attempt, and the age of its claim."""
    mine = claims.running(view, local)
    if mine is None:
        return ""
    age = claims.age(view, mine)
    touched = "" if age is None else f", claim touched {ago(age)}"
    return f", on {mine.host} since {mine.started}{touched}"


def _ended(job: GridJob, local: LocalJob) -> Wait:
    why = f": {local.reason}" if local.reason else ""
    if local.state is State.COMPLETED:
        tar = "are in the tar" if job.step is Step.FINISHED else "go into the tar when the whole grid job has ended"
        then = f"its outputs {tar}"
    elif local.state in FROZEN:
        then = "nothing: other local jobs do its work"
    elif local.piece.failure:
        then = f"nothing: it can never run; later, `jim recover {local.grid}` writes a request for its work"
    else:
        then = f"nothing happens by itself; `jim retry {local.grid}.{local.n}` gives it another set of attempts"
    return Wait(f"ended as {local.state.value}{why}", then, local.witness, local.updated)

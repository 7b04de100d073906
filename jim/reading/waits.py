"""What jobs wait for, on what evidence, and what happens next and when: read from the store, never asked anew."""

from __future__ import annotations

from collections.abc import Iterator

from jim.evidence.transitions import FAMILY_VERBS, again_of
from jim.jobs import UNDECIDED, GridJob, LocalJob, Submission
from jim.model import FROZEN, Kind, State, Step, SubmissionState, Verb
from jim.reading import claims
from jim.reading.before_submission import Wait, many, next_attempt, waiting
from jim.reading.quantities import ago, counted, how_many, span
from jim.reading.view import View
from jim.statusdb.record import failures, retryable
from jim.work.sizing import left_to_catalogue

NOTES_TOLD = 5
LOOKED_AT = 1000  # running local jobs whose claims are looked at
QUEUED = {  # said of many, and of one
    State.SUBMITTED: ("wait in the batch system's queue", "waits in the batch system's queue"),
    State.HELD: ("are held in the batch system", "is held in the batch system"),
    State.RUNNING: ("run", "runs"),
    State.SUSPENDED: ("are suspended in the batch system", "is suspended in the batch system"),
    State.COMPLETING: ("have ended; their outputs are to be verified", "has ended; its outputs are to be verified"),
}


def of_grid_job(view: View, job: GridJob) -> Iterator[Wait]:
    """Give what a grid job waits for."""
    if job.step is Step.FINISHED:
        yield _finished(view, job)
        yield from _not_taken(view, job)
        return
    yield from _keeper(view)
    yield from _wish(view, job)
    if job.step in (Step.ACCEPTED, Step.RESOLVED):
        yield _preparing(view, job)
    elif job.step is Step.COLLECTING:
        yield _collecting(view, job)
    else:
        yield from _batch_system(view, job)
        yield from _history(view, job)
        yield from waiting(view, job)
        for submission in sorted(view.store.submissions(*UNDECIDED, grid=job.id), key=_number):
            yield _sending(view, submission)
        yield from _noted(view, job)
        yield from _queued(view, job)
        yield from claims.silent(view, view.store.local_jobs(job.id, (State.RUNNING,), limit=LOOKED_AT))
        yield from _failed(view, job)


def of_local_job(view: View, job: GridJob, local: LocalJob) -> Iterator[Wait]:
    """Give what a local job waits for."""
    if local.state.final:
        yield _ended(job, local)
        yield from _not_taken(view, job)
        return
    yield from _keeper(view)
    yield from _wish(view, job)
    yield from _batch_system(view, job)
    yield from _history(view, job)
    if local.wish:
        yield Wait(f"{local.wish} wished", "JIM tells the batch system again until its end is seen", "user")
    if local.state is State.WAITING:
        yield from next_attempt(view, job, local)
    elif local.state is State.SUBMITTING:
        submission = view.store.submission(job.id, local.submission or 0)
        if submission:
            yield _sending(view, submission)
    else:
        yield _in_batch(view, local)
        yield from claims.silent(view, [local])


# The grid job as a whole


def _finished(view: View, job: GridJob) -> Wait:
    left = view.site.keep.seconds(test=job.is_test) - view.age(job.updated)
    kept = f"rows and files are removed in {span(left)}" if left > 0 else "rows and files are removed soon"
    again = "" if job.outcome == State.COMPLETED.value else f"; {_again(view, job)}"
    why = view.why(job)
    return Wait(f"finished as {job.outcome}{': ' if why else ''}{why}", f"{kept}{again}", seen=job.updated)


def _again(view: View, job: GridJob) -> str:
    """Say how what a finished grid job has left undone can be done."""
    if not job.size:
        return "it has no local jobs: hand it in anew, with what is wrong put right"
    if again_of(retryable(view.store, job.id), ()):
        return f"`jim retry {job.id}` tries what failed once more"
    return f"`jim recover {job.id}` writes the request that does what can never run"


def _keeper(view: View) -> Iterator[Wait]:
    heart = view.heart()
    if not heart.beats:
        yield Wait(heart.words, f"{heart.next}; until then nothing moves", "heartbeat")


def _not_taken(view: View, job: GridJob) -> Iterator[Wait]:
    for verb, target in view.wishes(job):
        then = "a keeper takes it up in its next round"
        if job.step is Step.COLLECTING and verb in FAMILY_VERBS:
            then = "a keeper takes it up once the outputs are gathered"
        elif job.step in (Step.ACCEPTED, Step.RESOLVED) and (verb == Verb.EDIT or "." in target):
            then = "a keeper takes it up once there are local jobs"
        yield Wait(f"{verb} of {target} wished, and not taken up yet", then, "user")


def _wish(view: View, job: GridJob) -> Iterator[Wait]:
    yield from _not_taken(view, job)
    counts = view.store.counts(job.id)
    there = counted((s.value, n) for s, n in counts.items() if s in QUEUED or s is State.SUBMITTING)
    unsaid = view.published.unsaid.get(str(job.id))
    if unsaid:
        yield Wait(
            f"the batch system could not be told of the wish; last words: {unsaid}",
            "it is told again, once a minute at least",
        )
    if job.wish == Verb.CANCEL:
        yield Wait(
            f"cancel wished; still in the batch system: {there or 'nothing'}",
            "JIM says it again to the batch system until each end is seen, then collects what completed",
            "user",
        )
    elif job.wish == Verb.SUSPEND:
        moving = sum(counts.get(state, 0) for state in (State.RUNNING, State.COMPLETING, State.SUBMITTING))
        still = f"{moving:,} of its local jobs still run" if moving else "nothing of it runs"
        yield Wait(f"suspended by wish; {still}", f"`jim resume {job.id}` lets it go on", "user")
    elif job.wish:
        yield Wait(
            f"{job.wish} wished; in the batch system: {there or 'nothing'}",
            "JIM says it again until it is seen",
            "user",
        )


def _preparing(view: View, job: GridJob) -> Wait:
    what = "it is to be sized" if job.step is Step.ACCEPTED else "it is to be split into local jobs"
    unknown = left_to_catalogue(job.request)
    if unknown:
        what += f", and the site's catalogue to be asked for {unknown}"
    if job.wish == Verb.SUSPEND:
        return Wait(what, f"the keeper does it once `jim resume {job.id}` has been said")
    if job.tries:
        return Wait(f"{what}: {job.reason}", f"try {job.tries + 1} in {span(view.due_in(job.due))}", seen=job.updated)
    return Wait(what, "the keeper does it now, or in its next round")


def _collecting(view: View, job: GridJob) -> Wait:
    if job.tries:
        due = span(view.due_in(job.due))
        return Wait(f"{job.reason or 'collecting failed'}", f"try {job.tries + 1} in {due}, and again until it works")
    return Wait("its outputs are being gathered into the tar", "it is finished when the tar is there", seen=job.updated)


def _batch_system(view: View, job: GridJob) -> Iterator[Wait]:
    trouble, seen = view.published.trouble, view.seen() or job.updated
    if not trouble.words:
        return
    often = f" ({trouble.failures:,} in a row)" if trouble.failures else ""
    again = f"asked again in {span(view.due_in(trouble.retry_due))}" if trouble.retry_due else "asked again soon"
    yield Wait(
        f"the batch system has not answered for {span(view.age(seen))}{often}; last words: {trouble.words}",
        f"{again}, at growing intervals up to a minute; what runs goes on meanwhile",
        "queue",
        seen,
    )


def _history(view: View, job: GridJob) -> Iterator[Wait]:
    trouble = view.published.history
    if trouble.words and job.id in trouble.grid_jobs:
        yield Wait(
            "what became of local jobs that left the queue without a word could not be found out"
            f" ({trouble.failures:,} in a row); last words: {trouble.words}",
            f"asked again in {span(view.due_in(trouble.retry_due))}, at growing intervals; all else goes on",
        )


# What is on its way


def _number(submission: Submission) -> int:
    return submission.k


def _sending(view: View, submission: Submission) -> Wait:
    name = f"submission {submission.k} ({submission.size:,} local job{'s' * (submission.size != 1)})"
    due = span(view.due_in(submission.due))
    if submission.state in UNDECIDED[1:]:
        what, then = _given_up(submission, due)
        if submission.trouble:
            what, then = f"{what}; it cannot be looked for: {submission.trouble}", f"JIM tries again in {due}"
        return Wait(f"{name}{what}", then, "submission", submission.updated)
    if submission.tries:
        then = f"handed over again in {due} (try {submission.tries + 1})"
        return Wait(f"{name} was not taken: {submission.reason}", then, "submission", submission.updated)
    then = f"its answer is waited for, {span(view.site.batch.command_seconds)} at most"
    return Wait(f"{name} is handed to the batch system", then, seen=submission.updated)


def _given_up(submission: Submission, due: str) -> tuple[str, str]:
    """Say what became of a submission that may never run, and what comes next."""
    fence = "JIM makes sure that nothing of it can start"
    return {
        SubmissionState.UNKNOWN: (
            f": outcome unknown: {submission.reason}",
            f"JIM looks for its mark {submission.mark} again in {due}: found, it is adopted; else fenced and sent anew",
        ),
        SubmissionState.FULL: (
            f" was too much for the batch system: {submission.reason}",
            f"in {due} {fence}, and sends fewer local jobs at once",
        ),
        SubmissionState.REFUSED: (f" was refused: {submission.reason}", f"{fence}, and ends its local jobs as failed"),
        SubmissionState.CANCELLED: (" was cancelled before it was sent", f"{fence}, and ends its local jobs as killed"),
    }[submission.state]


def _noted(view: View, job: GridJob) -> Iterator[Wait]:
    """Tell what listings have said of jobs that wait or run, and that does not pass by itself."""
    found, _ = view.store.reasons(job.id, (State.SUBMITTED, State.RUNNING), NOTES_TOLD)
    for each in found:
        if each.reason:
            in_vain = each.reason.kind is Kind.NEVER_STARTS
            then = _in_vain(str(job.id)) if in_vain else f"nothing; `jim show --all {job.id}` names them"
            yield Wait(f"{how_many(each.times, 'local job')}: {each.reason}", then, "queue", view.seen() or job.updated)


def _in_vain(target: str) -> str:
    return (
        f"nothing by itself: have the site allow it, or say `jim cancel {target}`, and hand in anew what asks for less"
    )


def _queued(view: View, job: GridJob) -> Iterator[Wait]:
    counts = view.store.counts(job.id)
    noted, _ = view.store.reasons(job.id, (State.SUBMITTED,), NOTES_TOLD)
    in_vain = sum(each.times for each in noted if each.reason.kind is Kind.NEVER_STARTS)
    for state, words in QUEUED.items():
        count = counts.get(state, 0) - (in_vain if state is State.SUBMITTED else 0)
        if count > 0:
            yield Wait(many(count, *words), f"each {_after(view, state)}", _witness(state), view.seen() or job.updated)


def _failed(view: View, job: GridJob) -> Iterator[Wait]:
    failed = view.store.counts(job.id).get(State.FAILED, 0)
    if failed:
        then = f"the others go on; `jim retry {job.id}` gives what failed another set of attempts"
        yield Wait(f"{many(failed, 'have', 'has')} failed: {failures(view.store, job.id)}", then, seen=job.updated)


def _witness(state: State) -> str:
    if state is State.COMPLETING:
        return "exit record"
    return "claim" if state is State.RUNNING else "queue"


def _after(view: View, state: State) -> str:
    asked = f"the batch system is asked every {view.site.batch.query_seconds:g} s"
    return {
        State.SUBMITTED: f"starts when the batch system lets it; {asked}",
        State.HELD: f"starts when it is released; {asked}",
        State.RUNNING: f"ends with its exit record; {asked}",
        State.SUSPENDED: f"goes on when it is resumed; {asked}",
        State.COMPLETING: "is verified in the keeper's next rounds",
    }[state]


# One local job


def _in_batch(view: View, local: LocalJob) -> Wait:
    submission = view.store.submission(local.grid, local.submission or 0)
    batch_id = f", batch job {submission.batch_id}" if submission and submission.batch_id else ""
    words = QUEUED[local.state][1]
    why = f" ({local.reason})" if local.reason else ""
    vain = local.kind is Kind.NEVER_STARTS
    return Wait(
        f"{words}{batch_id}{_claim(view, local)}{why}",
        _in_vain(f"{local.grid}.{local.n}") if vain else f"it {_after(view, local.state)}",
        local.witness,
        max(view.seen(), local.updated),
    )


def _claim(view: View, local: LocalJob) -> str:
    """Tell where it runs, and how fresh its claim is."""
    mine = claims.running(view, local)
    if mine is None:
        return ""
    age = claims.age(view, mine)
    touched = "" if age is None else f", its claim touched {ago(age)}"
    return f", on {mine.host} since {mine.started}{touched}"


def _ended(job: GridJob, local: LocalJob) -> Wait:
    why = f": {local.reason}" if local.reason else ""
    if local.state is State.COMPLETED:
        tar = "are in the tar" if job.step is Step.FINISHED else "go into the tar when all of its grid job has ended"
        then = f"its outputs {tar}"
    elif local.state in FROZEN:
        then = "nothing: other local jobs do its work"
    elif local.piece.failure:
        then = (
            f"nothing: it can never run; `jim recover {local.grid}`, in the end, writes the request that does its work"
        )
    else:
        then = f"nothing by itself; `jim retry {local.grid}.{local.n}` gives it another set of attempts"
    return Wait(f"ended as {local.state.value}{why}", then, local.witness, local.updated)

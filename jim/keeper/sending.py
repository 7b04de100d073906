"""Handing local jobs to the batch system: intent first, then the command, then its answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from jim.errors import BadRequest, BatchError, Full, JimError, NotStarted, Outdated, Refused, Unclear, shown
from jim.evidence import verdict
from jim.evidence.analysis import Action
from jim.evidence.exit_record import Told
from jim.handlers.base import Attributes, Handler
from jim.idealizer.reasons import reason_of
from jim.idealizer.retry import AGAIN, delay
from jim.jobs import Change, GridJob, LocalJob, Submission, whole_reason
from jim.keeper import arrivals, judging, reasons
from jim.keeper.judging import WORDS
from jim.keeper.keeper import House
from jim.keeper.serial import CHOICE
from jim.model import NO_REASON, Batch, Job, Reason, State, Step, SubmissionState, Verb, Witness
from jim.request import handler_of
from jim.site.settings import Payload
from jim.workdir import credentials
from jim.workdir.submission import (
    Line,
    has_another,
    mark_sent,
    prepare_submission,
    submission_directory,
    tries_sent,
    was_removed,
)

log = logging.getLogger(__name__)
OF_EACH = ("executable", "arguments", "environment", "outputs")  # what a submission's lines say of each local job
# Submissions that the batch system may have.
ACCEPTED = (
    SubmissionState.UNKNOWN,
    SubmissionState.FULL,
    SubmissionState.RECORDED,
    SubmissionState.CONFIRMED,
    SubmissionState.ENDED,
)
# While there is one of these, no other submission is made.
UNSENT = (
    SubmissionState.INTENDED,
    SubmissionState.REFUSED,
    SubmissionState.FULL,
    SubmissionState.CANCELLED,
)


def send(house: House) -> None:
    """Bundle waiting local jobs into submissions, and run the batch commands of those intended."""
    if not house.health.open:
        _bundle(house)
    for submission in house.store.submissions(SubmissionState.INTENDED):
        if not house.workers.busy(submission.mark) and not house.workers.crowded():
            _send(house, submission)


def _bundle(house: House) -> None:
    """Record the intent to send as many waiting local jobs as the throttle lets through."""
    limits = house.site.limits
    queued = house.store.in_batch()
    room = limits.queued - sum(queued.values())
    chunk = min(limits.per_submission, house.adapter.array_limit, house.chunk)
    for job in sorted(house.store.grid_jobs(Step.SPLIT, Step.ACTIVE), key=lambda job: -job.priority):
        mine = min(room, limits.queued_per_grid_job - queued.get(job.id, 0))
        unsent = house.store.submissions(*UNSENT, grid=job.id)
        if job.wish or mine <= 0 or job.id in house.expired or unsent:
            continue
        waiting = house.store.local_jobs(job.id, (State.WAITING,), limit=min(chunk, mine), due=house.clock.steady())
        if waiting:
            first = _told_of_all(house, waiting[0])
            waiting = [each for each in waiting if _told_of_all(house, each) == first]
            k = job.submissions + 1
            seconds = judging.asked_seconds(house, waiting[0])
            house.store.intend(job.id, k, f"jim-{house.hold.instance}-{job.id}-{k}", waiting, seconds)
            room -= len(waiting)


def _told_of_all(house: House, local: LocalJob) -> tuple[str, dict[str, Any]]:
    """Give what one batch command can say only of all its local jobs: the host to avoid, and what they ask for."""
    own = {name: value for name, value in local.piece.attributes.items() if name not in OF_EACH}
    return avoided(house, local, local.attempt), own


def avoided(house: House, job: LocalJob, attempt: int) -> str:
    """Name the host on which an attempt has failed, if the next one shall not go there."""
    if not attempt:
        return ""
    found = next((each for each in house.store.attempts(job.grid, n=job.n) if each.attempt == attempt), None)
    return found.host if found and found.verdict == WORDS[Action.ELSEWHERE] else ""


def _send(house: House, submission: Submission) -> None:
    job = house.store.grid_job(submission.grid)
    if job.wish == Verb.CANCEL:  # a keeper before us may have handed it over: it is given up once it is fenced
        house.store.set_submission(
            job.id, submission.k, state=SubmissionState.CANCELLED, reason=reasons.SUBMISSION_CANCELLED, due=0.0
        )
    elif not job.wish and house.clock.steady() >= submission.due and not house.health.open:
        jobs = _jobs(house, submission)
        judging.keep_sent_with(house, submission, jobs[0])
        house.hold.expect(house.store)
        house.workers.start(
            submission.mark,
            partial(_hand_over, house, job, submission, jobs, avoided(house, jobs[0], jobs[0].attempt - 1)),
            partial(_recorded, house, submission),
            partial(_not_recorded, house, submission),
            command=True,
        )


def _jobs(house: House, submission: Submission) -> list[LocalJob]:
    """Give the local jobs of a submission, by index."""
    attempts = sorted(house.store.attempts(submission.grid, k=submission.k), key=lambda attempt: attempt.idx)
    return [house.store.local_job(attempt.grid, attempt.n) for attempt in attempts]


def _hand_over(house: House, job: GridJob, submission: Submission, jobs: list[LocalJob], avoid: str) -> str:
    """Prepare the submission directory, run the batch command, and return the batch id. Runs in a worker."""
    site, adapter = house.site, house.adapter
    handler = handler_of(job.job_type, site.site.handlers)
    directory = submission_directory(house.directory(job.id), submission.k)
    house.hold.reach()
    _refuse_another_s(directory, submission, jobs)
    if tries_sent(directory) > submission.tries:  # of which we know that nothing was done
        raise Unclear("JIM was ended before the batch system's answer was recorded")
    variables = {"index": adapter.index_variable, "id": adapter.id_variable, "restart": adapter.restart_variable}
    if was_removed(site.work, directory.parent):
        raise JimError(f"{directory.parent} was removed")
    with suppress(BadRequest):  # the one it has, then; what is wrong with the new one stands in the journal
        credentials.hand_over(directory.parent, job.request, credentials.now())
    lines = [Line(*_line(handler, job, each)) for each in jobs]
    settings = _settings(house, handler, job, submission)
    script = prepare_submission(directory, variables, settings, lines, shared=adapter.shared_work)
    resources = site.complete(handler.resources({**job.request, **jobs[0].piece.attributes}))
    hosts = (avoid,) if avoid else ()
    batch = Batch(submission.mark, str(script), str(directory), len(jobs), resources, site.batch.options, hosts)
    mark_sent(directory, submission.tries + 1)
    return house.channel.submit(batch)


def _refuse_another_s(directory: Path, submission: Submission, jobs: list[LocalJob]) -> None:
    """Stop where a directory is that of another submission: the store has forgotten it, and it may run."""
    own = Told(submission.mark, {idx: (each.n, each.attempt) for idx, each in enumerate(jobs, 1)})
    if has_another(directory, own):
        raise Outdated(f"{directory} holds what the status.db has forgotten, as after a restore. {CHOICE}")


def _line(handler: Handler, job: GridJob, local: LocalJob) -> tuple[Job, list[str], list[tuple[str, str]]]:
    attempt = Job(job.id, job.key, local.n, local.attempt, local.recovery)
    request = {**job.request, **local.piece.attributes} if local.piece.attributes else job.request
    # a handler says itself where recovery arguments go
    words = _lines("command_and_arguments", handler.command_and_arguments(request, attempt, local.piece))
    return attempt, words, _payload_settings(handler, request) if job.splitter else []


def _lines(question: str, answer: Iterable[str]) -> list[str]:
    """Refuse what a handler has answered unless it is a list of texts, of one line each, as wrappers read them."""
    texts = list(answer)
    fit = all(isinstance(each, str) and "\n" not in each and "\0" not in each for each in texts)
    if isinstance(answer, str) or not fit:
        found = answer if isinstance(answer, str) else texts
        raise JimError(f"the job type's {question}: expected texts of one line each, found {shown(found)}")
    return texts


def _payload_settings(handler: Handler, request: Attributes) -> list[tuple[str, str]]:
    """Say what a payload brings back, and its environment."""
    return [
        *(("out", pattern) for pattern in _lines("outputs", handler.outputs(request))),
        *(("env", each) for each in _lines("environment", map("=".join, handler.environment(request).items()))),
    ]


def _settings(house: House, handler: Handler, job: GridJob, submission: Submission) -> list[tuple[str, str]]:
    site = house.site
    return [
        ("mark", submission.mark),
        ("spool", "../../spool"),
        ("touch", str(site.batch.touch_seconds)),
        ("limit", str(site.limits.output_bytes)),
        *_surroundings(site.payload),
        *(("in", Path(each).name) for each in job.request.get("inputs") or ()),
        *([] if job.splitter else _payload_settings(handler, job.request)),  # else each local job has its own
    ]


def _surroundings(payload: Payload) -> list[tuple[str, str]]:
    """Say what a payload finds on the worker node."""
    container = [("container", each) for each in payload.container] if payload.image else []
    one = {"scratch": payload.scratch, "setup": payload.setup, "image": payload.image}
    return [
        *(("keep", pattern) for pattern in payload.environment),
        *container,
        *((word, value) for word, value in one.items() if value),
    ]


def _recorded(house: House, submission: Submission, batch_id: str) -> None:
    """Keep the batch id. A start, or even the end of all, may have been seen before: that says more than an answer."""
    house.paced.pop("full", None)
    house.chunk = max(house.chunk, 2 * submission.size)
    with house.store.transaction():
        now = house.store.submission(submission.grid, submission.k)
        state = (
            now.state
            if now and now.state in (SubmissionState.CONFIRMED, SubmissionState.ENDED)
            else SubmissionState.RECORDED
        )
        house.store.set_submission(
            submission.grid, submission.k, state=state, batch_id=batch_id, reason=NO_REASON, tries=0
        )
        arrivals.accepted(house, submission.grid, submission.k, Witness.SUBMISSION)
    log.info(
        "%d: submission %d (local jobs: %d) is batch job %s", submission.grid, submission.k, submission.size, batch_id
    )


def _not_recorded(house: House, submission: Submission, error: BaseException) -> None:
    """Sort out what a failed submission means.

    Whatever the batch system says, it may have accepted the submission: a submission is never handed over again, unless
    the batch command could not even be started.
    """
    grid, k, reason = submission.grid, submission.k, reason_of(error)
    if isinstance(error, Outdated):
        raise error
    if isinstance(error, Refused):
        house.store.set_submission(grid, k, state=SubmissionState.REFUSED, reason=reason, tries=0, due=0.0)
    elif isinstance(error, Full):  # the batch system is well
        house.chunk = max(1, submission.size // 2)
        due = house.clock.steady(house.pace_of("full"))
        house.store.set_submission(grid, k, state=SubmissionState.FULL, reason=reason, tries=0, due=due)
    elif isinstance(error, BatchError | OSError):
        if isinstance(error, OSError):  # of the work directory: what cannot be written is waited for likewise
            house.health.failed(error)
        if isinstance(error, NotStarted | OSError):
            tries = submission.tries + isinstance(error, NotStarted)
            due = house.clock.steady() + delay(AGAIN, house.health.failures)
            house.store.set_submission(grid, k, tries=tries, due=due, reason=reason)
        elif isinstance(error, Unclear):
            doubt(house, submission, reason)
        else:  # it says that nothing was done
            doubt(house, submission, reasons.not_now(error), looks=int(house.adapter.shared_work))
    else:  # the job type cannot say what to run: that never gets better by itself
        reason = reasons.cannot_be_sent(error)
        with house.store.transaction():
            give_up(house, submission, partial(_never_sent, reason))
            _stop_sending(house, submission.grid, reason)
    log.warning("%d: submission %d: %s", submission.grid, submission.k, error)


def _never_sent(reason: Reason, *, cancelled: bool) -> verdict.Verdict:
    return verdict.Verdict(State.KILLED if cancelled else State.NEW, reason, Witness.KEEPER)


def refused(house: House, submission: Submission) -> None:
    """Close a submission that the batch system has refused; if that has nothing of the grid job, all of it is new."""
    first, why = _jobs(house, submission)[0], whole_reason(submission)
    if avoid := avoided(house, first, first.attempt - 1):  # perhaps it was refused for that: then anywhere will do
        log.warning("%d: refused, and sent again without the wish to avoid %s", submission.grid, avoid)
        give_up(house, submission, partial(verdict.of_never_sent, reasons.avoiding(why, avoid)))
        return
    judge: Callable[..., verdict.Verdict] = partial(verdict.of_refused, why)
    reason = reasons.refused(submission.k, why)
    with house.store.transaction():
        if not house.store.submissions(*ACCEPTED, grid=submission.grid):
            judge = partial(_never_sent, reason)
        give_up(house, submission, judge)
        _stop_sending(house, submission.grid, reason)


def _stop_sending(house: House, grid: int, reason: Reason) -> None:
    """Give up what waits to be sent: it would fare no better. But a request may say to keep going."""
    if house.store.grid_job(grid).request.get("keep_going"):
        return
    for attempt, those in groupby(sorted(house.store.local_jobs(grid, (State.WAITING,)), key=_attempt), key=_attempt):
        numbers = [each.n for each in those]
        house.store.change([Change(grid, attempt, State.WAITING, State.NEW, Witness.KEEPER, numbers, reason)])


def _attempt(job: LocalJob) -> int:
    return job.attempt


def doubt(house: House, submission: Submission, reason: Reason, looks: int = 0) -> None:
    """Leave a submission to be looked for, as if so many looks had not found it."""
    columns = {"state": SubmissionState.UNKNOWN, "reason": reason, "tries": looks, "due": 0.0}
    house.store.set_submission(submission.grid, submission.k, **columns)


def give_up(house: House, submission: Submission, judge: Callable[..., verdict.Verdict]) -> None:
    """Close a submission of which nothing can start: it is fenced, or its batch command was never run."""
    with house.store.transaction():
        house.store.set_submission(submission.grid, submission.k, state=SubmissionState.VOID)
        for attempt in house.store.attempts(submission.grid, k=submission.k):
            wish = judging.cancelled(house, attempt.grid, attempt.n)
            judging.record(house, (attempt.grid, attempt.k, attempt.idx), judge(cancelled=wish))

"""Handing local jobs to the batch system: intent first, then the command, then its answer."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from heapq import heappop, heappush
from itertools import groupby
from typing import Any

from jim.errand import Errand
from jim.errors import BatchError, Full, NotStarted, Refused, Unclear, UnknownJob
from jim.evidence import verdict
from jim.evidence.analysis import Action
from jim.idealizer.reasons import reason_of
from jim.jobs import Change, GridJob, LocalJob, Submission, whole_reason
from jim.keeper import arrivals, judging, reasons
from jim.keeper.handing_over import OF_EACH, hand_over
from jim.keeper.judging import WORDS
from jim.keeper.keeper import Keeper
from jim.keeper.looks import THREAD
from jim.keeper.workers import NEVER
from jim.model import IN_BATCH, NO_REASON, Reason, State, Step, SubmissionState, Verb, Witness

log = logging.getLogger(__name__)
FULL = "full"  # how often the batch system has said so
STEPS = (Step.SPLIT, Step.ACTIVE)
AT_ONCE_SECONDS = 0.03  # of the loop
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


class Sending:
    """The move that bundles waiting local jobs into submissions, and runs the batch commands of those intended."""

    def __init__(self) -> None:
        self.most = sys.maxsize  # so many local jobs a submission at most, as the batch system lets us
        self._priorities: dict[int, int] = {}  # of grid jobs that have something to send
        self._in_turn: list[tuple[int, int]] = []  # a heap of these, the highest priority first

    def __call__(self, keeper: Keeper, job: GridJob) -> float:
        """Hand over what was intended; if anything waits, let it have its turn."""
        when = self._hand_on_all(keeper, job)
        if not _may_send(keeper, job):
            return when
        if not keeper.store.local_jobs(job.id, (State.WAITING,), limit=1, due=keeper.clock.steady()):
            return keeper.clock.boot_at(keeper.store.next_due(job.id))
        if self._priorities.get(job.id) != job.priority:
            self._priorities[job.id] = job.priority
            heappush(self._in_turn, (-job.priority, job.id))
        return when

    def share(self, keeper: Keeper) -> None:
        """Record the intent to send as many waiting local jobs as the throttle lets through, and hand them over."""
        until = keeper.clock.boot() + AT_ONCE_SECONDS
        while self._in_turn and _room(keeper) > 0 and not keeper.health.open and keeper.clock.boot() <= until:
            negative, number = self._in_turn[0]
            if self._priorities.get(number) == -negative:
                with suppress(UnknownJob):
                    self._bundle(keeper, keeper.store.grid_job(number))
                del self._priorities[number]  # not before: what fails is made again
            heappop(self._in_turn)

    def _bundle(self, keeper: Keeper, job: GridJob) -> None:
        if not _may_send(keeper, job):
            return
        most = min(
            _room(keeper), _room(keeper, job), keeper.site.limits.per_submission, keeper.adapter.array_limit, self.most
        )
        waiting = keeper.store.local_jobs(job.id, (State.WAITING,), limit=most, due=keeper.clock.steady())
        if waiting:
            _intend(keeper, job, waiting)
            self._hand_on_all(keeper, job)

    def _hand_on_all(self, keeper: Keeper, job: GridJob) -> float:
        intended = keeper.store.submissions(SubmissionState.INTENDED, grid=job.id)
        return min((self._hand_on(keeper, job, each) for each in intended), default=NEVER)

    def _hand_on(self, keeper: Keeper, job: GridJob, submission: Submission) -> float:
        """Let a worker run the batch command of what was intended."""
        if keeper.workers.busy(submission.mark) or (job.wish and job.wish != Verb.CANCEL):
            return NEVER
        if job.wish:  # a keeper before us may have handed it over: it is given up once it is fenced
            why = reasons.SUBMISSION_CANCELLED
            told = {"state": SubmissionState.CANCELLED, "reason": why, "due": 0.0}
            keeper.store.set_submission(job.id, submission.k, **told)
            keeper.workers.forget(submission.mark)
            return NEVER
        due = max(keeper.clock.boot_at(submission.due), keeper.health.retry_at if keeper.health.open else 0.0)
        if due > keeper.clock.boot():
            return due
        if keeper.workers.crowded():
            return keeper.looks.wait_for(THREAD, job.id)
        return self._start(keeper, job, submission)

    def _start(self, keeper: Keeper, job: GridJob, submission: Submission) -> float:
        jobs = _jobs(keeper, submission)
        judging.keep_sent_with(keeper, submission, jobs[0])
        keeper.hold.expect(keeper.store)
        avoid = avoided(keeper, jobs[0], jobs[0].attempt - 1)
        work = partial(hand_over, keeper, job, submission, jobs, avoid)
        done, failed = partial(self._recorded, keeper, submission), partial(self._not_recorded, keeper, submission)
        errand = Errand(submission.mark, work, done, failed, command=True, grid=job.id, heeds=(BaseException,))
        return keeper.workers.start(errand)

    def _recorded(self, keeper: Keeper, submission: Submission, batch_id: str) -> None:
        keeper.workers.forget(FULL)
        self.most = max(self.most, 2 * submission.size)
        _record(keeper, submission, batch_id)

    def _not_recorded(self, keeper: Keeper, submission: Submission, error: BaseException) -> None:
        if isinstance(error, Full):  # the batch system is well
            self.most = max(1, submission.size // 2)
        _sort_out(keeper, submission, error)


def _may_send(keeper: Keeper, job: GridJob) -> bool:
    """Tell whether another submission of a grid job may be made, as far as that hangs on the grid job."""
    if job.step not in STEPS or job.wish or not keeper.workers.ready(("send", job.id)):
        return False
    return _room(keeper, job) > 0 and not keeper.store.submissions(*UNSENT, grid=job.id)


def _room(keeper: Keeper, job: GridJob | None = None) -> int:
    """Tell how many local jobs more the site lets into the queue, or of a grid job."""
    limits = keeper.site.limits
    if job is None:
        return limits.queued - keeper.store.in_batch()
    counts = keeper.store.counts(job.id)
    return limits.queued_per_grid_job - sum(counts.get(state, 0) for state in IN_BATCH)


def _intend(keeper: Keeper, job: GridJob, waiting: list[LocalJob]) -> None:
    """Record the intent to send the first of these, and those that can be sent with it."""
    first = _told_of_all(keeper, waiting[0])
    waiting = [each for each in waiting if _told_of_all(keeper, each) == first]
    k = job.submissions + 1
    seconds = judging.asked_seconds(keeper, waiting[0])
    keeper.store.intend(job.id, k, f"jim-{keeper.hold.instance}-{job.id}-{k}", waiting, seconds)


def _told_of_all(keeper: Keeper, local: LocalJob) -> tuple[str, dict[str, Any]]:
    """Give what one batch command can say only of all its local jobs: the host to avoid, and what they ask for."""
    own = {name: value for name, value in local.piece.attributes.items() if name not in OF_EACH}
    return avoided(keeper, local, local.attempt), own


def avoided(keeper: Keeper, job: LocalJob, attempt: int) -> str:
    """Name the host on which an attempt has failed, if the next one shall not go there."""
    if not attempt:
        return ""
    found = next((each for each in keeper.store.attempts(job.grid, n=job.n) if each.attempt == attempt), None)
    return found.host if found and found.verdict == WORDS[Action.ELSEWHERE] else ""


def _jobs(keeper: Keeper, submission: Submission) -> list[LocalJob]:
    """Give the local jobs of a submission, by index."""
    attempts = sorted(keeper.store.attempts(submission.grid, k=submission.k), key=lambda attempt: attempt.idx)
    return [keeper.store.local_job(attempt.grid, attempt.n) for attempt in attempts]


def _record(keeper: Keeper, submission: Submission, batch_id: str) -> None:
    """Keep the batch id. A start, or even the end of all, may have been seen before: that says more than an answer."""
    with keeper.store.transaction():
        now = keeper.store.submission(submission.grid, submission.k)
        state = (
            now.state
            if now and now.state in (SubmissionState.CONFIRMED, SubmissionState.ENDED)
            else SubmissionState.RECORDED
        )
        keeper.store.set_submission(
            submission.grid, submission.k, state=state, batch_id=batch_id, reason=NO_REASON, tries=0
        )
        arrivals.accepted(keeper, submission.grid, submission.k, Witness.SUBMISSION)
    log.info(
        "%d: submission %d (local jobs: %d) is batch job %s", submission.grid, submission.k, submission.size, batch_id
    )


def _sort_out(keeper: Keeper, submission: Submission, error: BaseException) -> None:
    """Sort out what a failed submission means.

    Whatever the batch system says, it may have accepted the submission: a submission is never handed over again, unless
    the batch command could not even be started.
    """
    grid, k, reason = submission.grid, submission.k, reason_of(error)
    if not isinstance(error, NotStarted | OSError):  # it is not handed over again
        keeper.workers.forget(submission.mark)
    if isinstance(error, Refused):
        keeper.store.set_submission(grid, k, state=SubmissionState.REFUSED, reason=reason, tries=0, due=0.0)
    elif isinstance(error, Full):
        due = keeper.clock.steady(keeper.workers.put_off(FULL))
        keeper.store.set_submission(grid, k, state=SubmissionState.FULL, reason=reason, tries=0, due=due)
    elif isinstance(error, BatchError | OSError):
        if isinstance(error, OSError):  # of the work directory: what cannot be written is waited for likewise
            keeper.health.failed(error)
        if isinstance(error, NotStarted | OSError):
            tries = submission.tries + isinstance(error, NotStarted)
            due = keeper.clock.steady(keeper.workers.due(submission.mark))
            keeper.store.set_submission(grid, k, tries=tries, due=due, reason=reason)
        elif isinstance(error, Unclear):
            doubt(keeper, submission, reason)
        else:  # it says that nothing was done
            doubt(keeper, submission, reasons.not_now(error), looks=int(keeper.adapter.shared_work))
    else:  # the job type cannot say what to run: that never gets better by itself
        reason = reasons.cannot_be_sent(error)
        with keeper.store.transaction():
            give_up(keeper, submission, partial(_never_sent, reason))
            _stop_sending(keeper, submission.grid, reason)
    log.warning("%d: submission %d: %s", submission.grid, submission.k, error)


def _never_sent(reason: Reason, *, cancelled: bool) -> verdict.Verdict:
    return verdict.Verdict(State.KILLED if cancelled else State.NEW, reason, Witness.KEEPER)


def refused(keeper: Keeper, submission: Submission) -> None:
    """Close a submission that the batch system has refused; if that has nothing of the grid job, all of it is new."""
    first, why = _jobs(keeper, submission)[0], whole_reason(submission)
    if avoid := avoided(keeper, first, first.attempt - 1):  # perhaps it was refused for that: then anywhere will do
        log.warning("%d: refused, and sent again without the wish to avoid %s", submission.grid, avoid)
        give_up(keeper, submission, partial(verdict.of_never_sent, reasons.avoiding(why, avoid)))
        return
    judge: Callable[..., verdict.Verdict] = partial(verdict.of_refused, why)
    reason = reasons.refused(submission.k, why)
    with keeper.store.transaction():
        if not keeper.store.submissions(*ACCEPTED, grid=submission.grid):
            judge = partial(_never_sent, reason)
        give_up(keeper, submission, judge)
        _stop_sending(keeper, submission.grid, reason)


def _stop_sending(keeper: Keeper, grid: int, reason: Reason) -> None:
    """Give up what waits to be sent: it would fare no better. But a request may say to keep going."""
    if keeper.store.grid_job(grid).request.get("keep_going"):
        return
    for attempt, those in groupby(sorted(keeper.store.local_jobs(grid, (State.WAITING,)), key=_attempt), key=_attempt):
        numbers = [each.n for each in those]
        keeper.store.change([Change(grid, attempt, State.WAITING, State.NEW, Witness.KEEPER, numbers, reason)])


def _attempt(job: LocalJob) -> int:
    return job.attempt


def doubt(keeper: Keeper, submission: Submission, reason: Reason, looks: int = 0) -> None:
    """Leave a submission to be looked for, as if so many looks had not found it."""
    columns = {"state": SubmissionState.UNKNOWN, "reason": reason, "tries": looks, "due": 0.0}
    keeper.store.set_submission(submission.grid, submission.k, **columns)


def give_up(keeper: Keeper, submission: Submission, judge: Callable[..., verdict.Verdict]) -> None:
    """Close a submission of which nothing can start: it is fenced, or its batch command was never run."""
    with keeper.store.transaction():
        keeper.store.set_submission(submission.grid, submission.k, state=SubmissionState.VOID)
        for attempt in keeper.store.attempts(submission.grid, k=submission.k):
            wish = judging.cancelled(keeper, attempt.grid, attempt.n)
            judging.record(keeper, (attempt.grid, attempt.k, attempt.idx), judge(cancelled=wish))

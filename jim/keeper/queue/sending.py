"""Hands local jobs to the batch system: records the intent, runs the command, records its answer."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

from jim.errand import Errand
from jim.errors import BatchError, Full, NotStarted, Refused, Unclear, UnknownJob
from jim.evidence import verdict
from jim.evidence.analysis import Action
from jim.idealizer.reasons import reason_of
from jim.jobs import Change, GridJob, LocalJob, Submission, whole_reason
from jim.keeper import reasons
from jim.keeper.attempts import arrivals, asked_for, judging
from jim.keeper.attempts.asked_for import AVOID
from jim.keeper.attempts.judging import WORDS
from jim.keeper.keeper import Keeper
from jim.keeper.looks import SPACE, THREAD
from jim.keeper.queue.disks import Disks
from jim.keeper.queue.handing_over import OF_EACH, hand_over, look_for_tries, require_untried
from jim.keeper.queue.sending_order import Senders, Turns, not_held_back
from jim.keeper.workers import NEVER
from jim.model import IN_BATCH, NO_REASON, Reason, State, Step, SubmissionState, Verb, Witness
from jim.work.bundles import per_batch_job

log = logging.getLogger(__name__)
FULL = "full"  # errand key: counts how often the batch system was full
STEPS = (Step.SPLIT, Step.ACTIVE)
AT_ONCE_SECONDS = 0.01  # of the loop
MOST_CARRIED = 5000  # local jobs of a submission with carriers, which is stored in one transaction
# What a payload may cause that has put something else in the place of its grid job's directory: other grid jobs go on.
ERRORS_OF_ONE_GRID_JOB = NotADirectoryError, PermissionError
FURTHER = (SubmissionState.CONFIRMED, SubmissionState.ENDED)  # states that follow the answer to a submission
# A submission in one of these states may be in the batch system.
ACCEPTED = (
    SubmissionState.UNKNOWN,
    SubmissionState.FULL,
    SubmissionState.RECORDED,
    SubmissionState.CONFIRMED,
    SubmissionState.ENDED,
)
# While a submission is in one of these states, its grid job makes no other submission.
UNSENT = (
    SubmissionState.INTENDED,
    SubmissionState.REFUSED,
    SubmissionState.FULL,
    SubmissionState.CANCELLED,
)


class Sending:
    """The move that makes submissions of waiting local jobs and runs the batch commands of intended ones."""

    def __init__(self, disks: Disks) -> None:
        self.most = sys.maxsize  # batch jobs in a submission: what the batch system has had room for
        self.disks = disks
        self._turns, self._senders = Turns(), Senders()
        self._own = set[str]()  # marks of submissions that no keeper before this one can have handed over
        self._untried = set[str]()  # marks of those that no batch command has had

    def __call__(self, keeper: Keeper, job: GridJob) -> float:
        """Hand over an intended submission; queue the grid job if local jobs of it wait."""
        sender = self._senders.look(keeper, job)
        when = self._hand_over_intended(keeper, job) if job.submissions else NEVER
        if not _may_send(keeper, job):
            return when
        if not keeper.store.local_jobs(job.id, (State.WAITING,), limit=1, due=keeper.clock.steady()):
            return keeper.clock.boot_at(keeper.store.seen.next_due(job.id))
        self._turns.add(sender, job.id, job.priority)
        return when

    def share(self, keeper: Keeper) -> None:
        """Record the intent to send as many waiting local jobs as the throttle allows, and hand them over."""
        if self.disks.stops():
            return
        until = keeper.clock.boot() + AT_ONCE_SECONDS
        while _room(keeper) > 0 and not _pauses(keeper) and keeper.clock.boot() <= until:
            turn = self._turns.first(lambda sender: self._senders.room(keeper, sender) > 0)
            if not turn:
                break
            with suppress(UnknownJob):
                self._send(keeper, keeper.store.grid_job(turn[1]), self._senders.room(keeper, turn[0]))
            self._turns.had(*turn)  # last: a grid job whose turn fails gets another turn

    def _send(self, keeper: Keeper, job: GridJob, room: int) -> None:
        if not _may_send(keeper, job):
            return
        batch_jobs = min(_room(keeper), keeper.site.limits.per_submission, keeper.adapter.array_limit, self.most)
        most = min(room, _room(keeper, job), batch_jobs * per_batch_job(job.request), max(batch_jobs, MOST_CARRIED))
        waiting = keeper.store.local_jobs(job.id, (State.WAITING,), limit=most, due=keeper.clock.steady())
        if waiting := not_held_back(keeper, job, waiting):
            mark = _intend(keeper, job, waiting)
            self._own.add(mark)
            self._untried.add(mark)
            self._senders.look(keeper, job)
            self._hand_over_intended(keeper, job)

    def _hand_over_intended(self, keeper: Keeper, job: GridJob) -> float:
        intended = keeper.store.submissions(SubmissionState.INTENDED, grid=job.id)
        return min((self._hand_over_if_due(keeper, job, each) for each in intended), default=NEVER)

    def _hand_over_if_due(self, keeper: Keeper, job: GridJob, submission: Submission) -> float:
        """Let a worker run the batch command of an intended submission, if nothing forbids that now."""
        if keeper.workers.busy(submission.mark) or (job.wish and job.wish != Verb.CANCEL):
            return NEVER
        if job.wish:
            return _cancel(keeper, submission)
        due = max(keeper.clock.boot_at(submission.due), _pauses(keeper))
        if due > keeper.clock.boot():
            return due
        if self.disks.stops():
            return keeper.looks.wait_for(SPACE, job.id)
        if keeper.workers.crowded():
            return keeper.looks.wait_for(THREAD, job.id)
        return self._start(keeper, job, submission)

    def _start(self, keeper: Keeper, job: GridJob, submission: Submission) -> float:
        jobs = _jobs(keeper, submission)
        failed = partial(self._failed, keeper, submission)
        if submission.mark not in self._untried:
            look = partial(
                require_untried if submission.mark in self._own else look_for_tries, keeper, job, submission, jobs
            )
            done = partial(self._mark_as_untried, submission)
            return keeper.workers.start(
                Errand(submission.mark, look, done, failed, grid=job.id, heeds=(BaseException,))
            )
        self._untried.remove(submission.mark)
        avoid = hosts_to_avoid(keeper, jobs[0], jobs[0].attempt - 1)
        asked_for.keep_sent_with(keeper, submission, jobs[0], avoid)
        keeper.hold.expect(keeper.store)
        work = partial(hand_over, keeper, job, submission, jobs, avoid)
        done = partial(self._answered, keeper, submission)
        errand = Errand(submission.mark, work, done, failed, command=True, grid=job.id, heeds=(BaseException,))
        return keeper.workers.start(errand)

    def _mark_as_untried(self, submission: Submission, _: None) -> None:
        self._untried.add(submission.mark)

    def _answered(self, keeper: Keeper, submission: Submission, batch_id: str) -> None:
        self._own.discard(submission.mark)
        keeper.workers.forget(FULL)
        keeper.hold.written.good()
        self.most = max(self.most, 2 * (submission.carriers or submission.size))
        keeper.channel.starts.sent((submission.grid, submission.k), keeper.clock.boot())
        _record(keeper, submission, batch_id)

    def _failed(self, keeper: Keeper, submission: Submission, error: BaseException) -> None:
        if isinstance(error, Full):  # the batch system works
            self.most = max(1, (submission.carriers or submission.size) // 2)
        if not isinstance(error, NotStarted | OSError):  # the submission is not handed over again
            self._own.discard(submission.mark)
        _sort_out(keeper, submission, error)


def _pauses(keeper: Keeper) -> float:
    """Return when the pause after failures of the batch system or work directory ends; 0: there is no pause."""
    return max((each.retry_at for each in (keeper.health, keeper.hold.written) if each.open), default=0.0)


def _cancel(keeper: Keeper, submission: Submission) -> float:
    """Cancel an intended submission; an earlier keeper may have sent it, so it is void only after a fence."""
    columns = {"state": SubmissionState.CANCELLED, "reason": reasons.SUBMISSION_CANCELLED, "due": 0.0}
    keeper.store.set_submission(submission.grid, submission.k, **columns)
    keeper.workers.forget(submission.mark)
    return NEVER


def _may_send(keeper: Keeper, job: GridJob) -> bool:
    """Tell whether the state of a grid job allows another submission of it."""
    if job.step not in STEPS or job.wish or not keeper.workers.ready(("send", job.id)):
        return False
    return _room(keeper, job) > 0 and not keeper.store.submissions(*UNSENT, grid=job.id)


def _room(keeper: Keeper, job: GridJob | None = None) -> int:
    """Return how many more batch jobs the site's limit allows, or how many more local jobs of a grid job."""
    limits = keeper.site.limits
    if job is None:
        return limits.queued - keeper.store.in_batch() + keeper.store.batch_jobs_saved()
    counts = keeper.store.counts(job.id)
    most = limits.queued_per_grid_job if job.room is None else min(job.room, limits.queued_per_grid_job)
    return most - sum(counts.get(state, 0) for state in IN_BATCH)


def _intend(keeper: Keeper, job: GridJob, waiting: list[LocalJob]) -> str:
    """Record the intent to send the first of these local jobs, with others that fit; return the submission's mark."""
    common = _common_to_all(keeper, waiting[0])
    waiting = [each for each in waiting if _common_to_all(keeper, each) == common]
    k = job.submissions + 1
    mark = f"jim-{keeper.hold.instance}-{job.id}-{k}"
    asked_for.intend(keeper, job, k, mark, waiting)
    return mark


def _common_to_all(keeper: Keeper, local: LocalJob) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return what all local jobs of a batch command must have in common: the hosts to avoid, and the resources."""
    own = {name: value for name, value in local.own.items() if name not in OF_EACH}
    return hosts_to_avoid(keeper, local, local.attempt), own


def hosts_to_avoid(keeper: Keeper, job: LocalJob, attempt: int) -> tuple[str, ...]:
    """Return the hosts that the next attempt must avoid: the site's, this attempt's, and those an analyser named."""
    site = keeper.hosts.excluded if keeper.adapter.can_avoid else ()
    if not attempt:
        return site
    last = next((each for each in keeper.store.attempts(job.grid, n=job.n) if each.attempt == attempt), None)
    own = (last.host,) if last and last.verdict == WORDS[Action.ELSEWHERE] else ()
    named = job.changed.get(AVOID, ()) if keeper.adapter.can_avoid else ()
    return tuple(sorted({*own, *named, *site}))


def _jobs(keeper: Keeper, submission: Submission) -> list[LocalJob]:
    """Return the local jobs of a submission, by index."""
    attempts = sorted(keeper.store.attempts(submission.grid, k=submission.k), key=lambda attempt: attempt.idx)
    return [keeper.store.local_job(attempt.grid, attempt.n) for attempt in attempts]


def _record(keeper: Keeper, submission: Submission, batch_id: str) -> None:
    """Store the batch id. If a start or all ends came before this answer, the submission keeps its state."""
    with keeper.store.transaction():
        stored = keeper.store.submission(submission.grid, submission.k)
        state = stored.state if stored and stored.state in FURTHER else SubmissionState.RECORDED
        keeper.store.set_submission(
            submission.grid, submission.k, state=state, batch_id=batch_id, reason=NO_REASON, tries=0
        )
        arrivals.accepted(keeper, submission.grid, submission.k, Witness.SUBMISSION)
    log.info(
        "%d: submission %d (local jobs: %d) is batch job %s", submission.grid, submission.k, submission.size, batch_id
    )


def _sort_out(keeper: Keeper, submission: Submission, error: BaseException) -> None:
    """Decide what follows from a failed submission.

    Whatever the batch system answered, it may have accepted the submission. So a submission is handed over again only
    if the batch command could not even be started.
    """
    grid, k, reason = submission.grid, submission.k, reason_of(error)
    if not isinstance(error, NotStarted | OSError):  # the submission is not handed over again
        keeper.workers.forget(submission.mark)
    if isinstance(error, Refused):
        keeper.store.set_submission(grid, k, state=SubmissionState.REFUSED, reason=reason, tries=0, due=0.0)
    elif isinstance(error, Full):
        due = keeper.clock.steady(keeper.workers.put_off(FULL))
        keeper.store.set_submission(grid, k, state=SubmissionState.FULL, reason=reason, tries=0, due=due)
    elif isinstance(error, BatchError | OSError):
        if isinstance(error, OSError) and not isinstance(error, ERRORS_OF_ONE_GRID_JOB):
            keeper.hold.written.failed(error)  # the work directory cannot be written
        if isinstance(error, NotStarted | OSError):
            tries = submission.tries + isinstance(error, NotStarted)
            due = keeper.clock.steady(keeper.workers.due(submission.mark))
            keeper.store.set_submission(grid, k, tries=tries, due=due, reason=reason)
        elif isinstance(error, Unclear):
            doubt(keeper, submission, reason)
        else:  # the batch system reports that it has done nothing
            doubt(keeper, submission, reasons.not_now(error), looks=int(keeper.adapter.shared_work))
    else:  # the job type cannot name the payload: another try cannot help
        reason = reasons.cannot_be_sent(error)
        with keeper.store.transaction():
            void_submission(keeper, submission, partial(_never_sent, reason))
            _stop_sending(keeper, submission.grid, reason)
    log.warning("%d: submission %d: %s", submission.grid, submission.k, error)


def _never_sent(reason: Reason, *, cancelled: bool) -> verdict.Verdict:
    return verdict.Verdict(State.KILLED if cancelled else State.NEW, reason, Witness.KEEPER)


def close_refused(keeper: Keeper, submission: Submission) -> None:
    """Close a refused submission and stop sending; its local jobs are new again if no submission was accepted."""
    why = whole_reason(submission)
    if avoid := submission.asked.get(AVOID):  # the hosts to avoid may be the cause: drop them
        hosts = ", ".join(avoid)
        keeper.hosts.not_excluded.update(avoid)
        log.warning("%d: refused, and sent again without the wish to avoid %s", submission.grid, hosts)
        with keeper.store.transaction():
            for each in _jobs(keeper, submission):
                if AVOID in each.changed:
                    changed = {name: value for name, value in each.changed.items() if name != AVOID}
                    keeper.store.set_local_job(each.grid, each.n, changed=changed)
            void_submission(keeper, submission, partial(verdict.of_never_sent, reasons.avoiding(why, hosts)))
        return
    judge: Callable[..., verdict.Verdict] = partial(verdict.of_refused, why)
    reason = reasons.refused(submission.k, why)
    with keeper.store.transaction():
        if not keeper.store.submissions(*ACCEPTED, grid=submission.grid):
            judge = partial(_never_sent, reason)
        void_submission(keeper, submission, judge)
        _stop_sending(keeper, submission.grid, reason)


def _stop_sending(keeper: Keeper, grid: int, reason: Reason) -> None:
    """Give up waiting local jobs, which would be refused as well, unless the request says to keep going."""
    if keeper.store.grid_job(grid).request.get("keep_going"):
        return
    number = attrgetter("attempt")
    for attempt, waiting in groupby(sorted(keeper.store.local_jobs(grid, (State.WAITING,)), key=number), key=number):
        numbers = [each.n for each in waiting]
        keeper.store.change([Change(grid, attempt, State.WAITING, State.NEW, Witness.KEEPER, numbers, reason)])


def doubt(keeper: Keeper, submission: Submission, reason: Reason, looks: int = 0) -> None:
    """Record a submission as unknown, to be looked for, as if `looks` looks had not found it."""
    columns = {"state": SubmissionState.UNKNOWN, "reason": reason, "tries": looks, "due": 0.0}
    keeper.store.set_submission(submission.grid, submission.k, **columns)


def void_submission(keeper: Keeper, submission: Submission, judge: Callable[..., verdict.Verdict]) -> None:
    """Close a submission that can never start: it is fenced, or its batch command was never run."""
    with keeper.store.transaction():
        keeper.store.set_submission(submission.grid, submission.k, state=SubmissionState.VOID)
        for attempt in keeper.store.attempts(submission.grid, k=submission.k):
            wish = judging.cancelled(keeper, attempt.grid, attempt.n)
            judging.record(keeper, (attempt.grid, attempt.k, attempt.idx), judge(cancelled=wish))

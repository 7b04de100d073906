"""Looks for submissions whose answer was lost or refused: adopts those found, fences the rest, closes ended ones."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial

from jim.errand import Errand
from jim.errors import BatchError, JimError
from jim.evidence import verdict
from jim.evidence.exit_record import JobsFile
from jim.jobs import GridJob, Submission, whole_reason
from jim.keeper.attempts import arrivals, judging
from jim.keeper.keeper import Keeper
from jim.keeper.looks import THREAD
from jim.keeper.missing_directories import fence, is_removed
from jim.keeper.queue.sending import close_refused, void_submission
from jim.keeper.workers import NEVER
from jim.model import NO_REASON, SubmissionState, Verb, Witness
from jim.workdir.claims import claims
from jim.workdir.submission import has_another, submission_directory, tries_sent

log = logging.getLogger(__name__)
GOOD_EMPTY_ANSWERS = 2  # they set the pace, as the fence makes a retry safe; where no fence reaches, they decide
LOST = (SubmissionState.UNKNOWN, SubmissionState.FULL)  # the batch system may have these, whatever it answered


@dataclass(frozen=True, slots=True)
class Found:
    """What a look found: whether the submission was accepted, its id if known, and the fenced indexes."""

    accepted: bool = False
    batch_id: str = ""
    fenced: frozenset[int] = frozenset()


def look_up(keeper: Keeper, job: GridJob) -> float:
    """Close submissions that have ended; look for submissions of unknown outcome, or fence them."""
    if not job.submissions:
        return NEVER
    keeper.store.end_submissions(job.id)
    states = *LOST, SubmissionState.REFUSED, SubmissionState.CANCELLED
    found = keeper.store.submissions(*states, grid=job.id)
    return min((_look_up_one(keeper, job, each) for each in found), default=NEVER)


def _look_up_one(keeper: Keeper, job: GridJob, submission: Submission) -> float:
    """Let a worker look for a submission when it is due, or at once after a cancel if a fence reaches the nodes."""
    cancelled = job.wish == Verb.CANCEL
    if keeper.clock.steady() < submission.due and not (cancelled and keeper.adapter.shared_work):
        return keeper.clock.boot_at(submission.due)
    if keeper.workers.crowded():
        return keeper.looks.wait_for(THREAD, job.id)
    look = partial(
        _look, keeper, submission, _own_attempts(keeper, submission), keeper.clock.boot(), cancelled=cancelled
    )
    looked, failed = partial(_looked, keeper, submission), partial(_could_not_look, keeper, submission)
    return keeper.workers.start(Errand(submission.mark, look, looked, failed, command=True, grid=job.id))


def _own_attempts(keeper: Keeper, submission: Submission) -> JobsFile:
    """Return the mark and the attempts that the directory of a submission must have."""
    attempts = keeper.store.attempts(submission.grid, k=submission.k)
    return JobsFile(submission.mark, {each.idx: (each.n, each.attempt) for each in attempts})


def _look(keeper: Keeper, submission: Submission, own: JobsFile, since: float, *, cancelled: bool) -> Found:
    """Look in the submission directory, then ask the batch system, then fence. Runs in a worker."""
    keeper.channel.end_client(submission.mark)  # a batch command that still hangs could submit later
    directory = submission_directory(keeper.directory(submission.grid), submission.k)
    if has_another(directory, own):
        raise JimError(f"{directory} belongs to another submission")
    is_removed(keeper, directory)  # raises an error while the directory is only away
    started = [keeper.adapter.batch_id(claim.batch) for _, claim in claims(directory) if not claim.fence]
    if started:
        return Found(accepted=True, batch_id=max(started) or keeper.channel.find(submission.mark, since))
    far = not keeper.adapter.shared_work  # no fence reaches the worker nodes: only good answers count
    # The command of a cancelled submission mostly never ran; then nobody need be asked.
    if submission.state in LOST or far or (cancelled and tries_sent(directory) > submission.tries):
        batch_id = keeper.channel.find(submission.mark, since)
        if batch_id:
            return Found(accepted=True, batch_id=batch_id)
        patient = far or (submission.state == SubmissionState.UNKNOWN and not cancelled)
        if patient and submission.tries + 1 < GOOD_EMPTY_ANSWERS:
            return Found()
    holders = fence(keeper, directory, range(1, submission.size + 1))
    fenced = frozenset(index for index, claim in holders.items() if claim.fence)
    others = [keeper.adapter.batch_id(claim.batch) for claim in holders.values() if not claim.fence]
    return Found(bool(others), max(others, default=""), fenced)


def _looked(keeper: Keeper, submission: Submission, found: Found) -> None:
    grid, k = submission.grid, submission.k
    if found.accepted:
        with keeper.store.transaction():
            adopt(keeper, submission, found.batch_id)
            for index in found.fenced:
                attempt = keeper.store.attempt(grid, k, index)
                if attempt:
                    lost = verdict.of_lost(None, cancelled=judging.cancelled(keeper, grid, attempt.n))
                    judging.record(keeper, (grid, k, index), lost)
    elif found.fenced:
        if submission.state == SubmissionState.REFUSED:
            close_refused(keeper, submission)
        else:
            judge = verdict.of_too_many if submission.state == SubmissionState.FULL else verdict.of_never_sent
            void_submission(keeper, submission, partial(judge, whole_reason(submission)))
        log.info("%d: submission %d was not accepted, and never will run", grid, k)
    else:
        # A batch system may show an accepted job late.
        due = keeper.clock.steady() + max(keeper.site.batch.query_seconds, keeper.site.batch.visible_seconds)
        keeper.store.set_submission(grid, k, tries=submission.tries + 1, due=due, trouble="")


def adopt(keeper: Keeper, submission: Submission, batch_id: str) -> None:
    """Record a submission with a lost answer as accepted."""
    grid, k = submission.grid, submission.k
    with keeper.store.transaction():
        known = batch_id or submission.batch_id
        keeper.store.set_submission(
            grid, k, state=SubmissionState.CONFIRMED, batch_id=known, reason=NO_REASON, trouble=""
        )
        arrivals.accepted(keeper, grid, k, Witness.QUEUE)
    keeper.doubts.drop(grid, k)  # that earlier listings missed the submission counts no more
    log.info("%d: submission %d was accepted after all, as batch job %s", grid, k, known or "(id not known yet)")


def _could_not_look(keeper: Keeper, submission: Submission, error: BaseException) -> None:
    """Conclude nothing from a failed query or an unreachable work directory; look again later."""
    if not isinstance(error, BatchError):
        log.warning("%d: submission %d cannot be looked for just now: %s", submission.grid, submission.k, error)
    later = max(keeper.clock.boot() + keeper.site.batch.query_seconds, keeper.workers.due(submission.mark))
    due = keeper.clock.steady(later)
    keeper.store.set_submission(submission.grid, submission.k, due=due, trouble=str(error))

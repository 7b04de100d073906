"""Looking for what became of a submission whose answer was lost: adopt it, or make sure that it never runs."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial

from jim.errors import BatchError, JimError
from jim.evidence import verdict
from jim.evidence.exit_record import Told
from jim.idealizer.retry import AGAIN, delay
from jim.jobs import Submission, whole_reason
from jim.keeper import arrivals, judging
from jim.keeper.keeper import House
from jim.keeper.sending import give_up, refused
from jim.model import NO_REASON, SubmissionState, Verb, Witness
from jim.workdir.submission import claims, fence, has_another, submission_directory, tries_sent, was_removed

log = logging.getLogger(__name__)
GOOD_EMPTY_ANSWERS = 2  # only set the pace; the fence is what makes a retry safe
LOST = (SubmissionState.UNKNOWN, SubmissionState.FULL)  # submissions that the batch system may have, whatever it said


@dataclass(frozen=True, slots=True)
class Found:
    """What a look brought: accepted under this batch id, fenced here, or nothing yet."""

    accepted: bool = False
    batch_id: str = ""
    fenced: frozenset[int] = frozenset()


def look_up(house: House) -> None:
    """Look for every submission whose outcome is not known, and fence those that are to be given up."""
    for submission in house.store.submissions(*LOST, SubmissionState.REFUSED, SubmissionState.CANCELLED):
        free = not house.workers.busy(submission.mark) and not house.workers.crowded()
        cancelled = house.store.grid_job(submission.grid).wish == Verb.CANCEL
        if free and (house.clock.steady() >= submission.due or (cancelled and house.adapter.shared_work)):
            house.workers.start(
                submission.mark,
                partial(_look, house, submission, _told(house, submission), house.clock.boot(), cancelled=cancelled),
                partial(_looked, house, submission),
                partial(_could_not_look, house, submission),
                command=True,
            )


def _told(house: House, submission: Submission) -> Told:
    """Say what the directory of a submission should tell of it."""
    attempts = house.store.attempts(submission.grid, k=submission.k)
    return Told(submission.mark, {each.idx: (each.n, each.attempt) for each in attempts})


def _look(house: House, submission: Submission, own: Told, since: float, *, cancelled: bool) -> Found:
    """Look in the submission directory, then ask the batch system, then fence. Runs in a worker."""
    house.channel.end_client(submission.mark)
    directory = submission_directory(house.directory(submission.grid), submission.k)
    if has_another(directory, own):
        raise JimError(f"{directory} is that of another submission")
    started = [house.adapter.batch_id(claim.batch) for _, claim in claims(directory) if not claim.fence]
    if started:
        return Found(accepted=True, batch_id=max(started) or house.channel.find(submission.mark, since))
    far = not house.adapter.shared_work  # no fence reaches its worker nodes: good answers alone tell
    # What is cancelled was mostly never handed over.
    if submission.state in LOST or far or (cancelled and tries_sent(directory) > submission.tries):
        batch_id = house.channel.find(submission.mark, since)
        if batch_id:
            return Found(accepted=True, batch_id=batch_id)
        patient = far or (submission.state == SubmissionState.UNKNOWN and not cancelled)
        if patient and submission.tries + 1 < GOOD_EMPTY_ANSWERS:
            return Found()
    if was_removed(house.site.work, directory):  # with all that could start
        return Found(fenced=frozenset(range(1, submission.size + 1)))
    holders = fence(directory, range(1, submission.size + 1))
    fenced = frozenset(index for index, claim in holders.items() if claim.fence)
    others = [house.adapter.batch_id(claim.batch) for claim in holders.values() if not claim.fence]
    return Found(bool(others), max(others, default=""), fenced)


def _looked(house: House, submission: Submission, found: Found) -> None:
    grid, k = submission.grid, submission.k
    if found.accepted:
        with house.store.transaction():
            adopt(house, submission, found.batch_id)
            for index in found.fenced:
                attempt = house.store.attempt(grid, k, index)
                if attempt:
                    lost = verdict.of_lost(None, cancelled=judging.cancelled(house, grid, attempt.n))
                    judging.record(house, (grid, k, index), lost)
    elif found.fenced:
        if submission.state == SubmissionState.REFUSED:
            refused(house, submission)
        else:
            judge = verdict.of_too_many if submission.state == SubmissionState.FULL else verdict.of_never_sent
            give_up(house, submission, partial(judge, whole_reason(submission)))
        log.info("%d: submission %d was not accepted, and never will run", grid, k)
    else:
        # What a site shows late may be an accepted job, too.
        due = house.clock.steady() + max(house.site.batch.query_seconds, house.site.batch.visible_seconds)
        house.store.set_submission(grid, k, tries=submission.tries + 1, due=due, trouble="")


def adopt(house: House, submission: Submission, batch_id: str) -> None:
    """Take a submission whose answer was lost for accepted."""
    grid, k = submission.grid, submission.k
    with house.store.transaction():
        known = batch_id or submission.batch_id
        house.store.set_submission(
            grid, k, state=SubmissionState.CONFIRMED, batch_id=known, reason=NO_REASON, trouble=""
        )
        arrivals.accepted(house, grid, k, Witness.QUEUE)
    for key in [key for key in house.doubts if key[:2] == (grid, k)]:  # listings before did not show it
        del house.doubts[key]
    log.info("%d: submission %d was accepted after all, as batch job %s", grid, k, batch_id)


def _could_not_look(house: House, submission: Submission, error: BaseException) -> None:
    """Nothing is proven by not being able to ask, or to look into the work directory; do so again later."""
    if not isinstance(error, BatchError | OSError | JimError):
        raise error
    if not isinstance(error, BatchError):
        log.warning("%d: submission %d cannot be looked for just now: %s", submission.grid, submission.k, error)
    due = house.clock.steady() + max(house.site.batch.query_seconds, delay(AGAIN, house.health.failures))
    house.store.set_submission(submission.grid, submission.k, due=due, trouble=str(error))

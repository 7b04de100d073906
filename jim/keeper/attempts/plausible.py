"""Bounds the times in exit records by what the keeper saw itself.

A payload can forge a record. No attempt has run longer than the keeper saw: from when it was sent until its end was
taken in. CPU time stays as reported: programs may use more cores than they asked for.
"""

from __future__ import annotations

import math

from jim.clock import age_seconds
from jim.evidence.exit_record import ExitRecord, read_exit_record, with_seen, without_seen
from jim.jobs import Attempt, Compared, Submission
from jim.keeper.attempts import asked_for
from jim.keeper.keeper import Keeper

SLACK_SECONDS = 2.0  # reported times may be whole seconds


def plausible(keeper: Keeper, sent: Compared | Submission, n: int, record: ExitRecord, text: str) -> str:
    """Return the text of an exit record to be stored: with what the keeper saw, if its times cannot be true."""
    most = _seen(keeper, sent) + SLACK_SECONDS
    if record.reported <= most and record.cpu <= most:  # as almost always
        return without_seen(text)
    cores = _cores(keeper, sent.grid, sent.k, n)
    if record.reported <= most and record.cpu <= most * cores:
        return without_seen(text)
    return with_seen(text, most, cores)


def store_record(keeper: Keeper, attempt: Attempt, record: ExitRecord, text: str) -> ExitRecord:
    """Store an exit record, with what the keeper saw if its times cannot be true; return what is stored."""
    submission = keeper.store.submission(attempt.grid, attempt.k)
    stored = plausible(keeper, submission, attempt.n, record, text) if submission else text
    keeper.store.set_attempt(attempt.grid, attempt.k, attempt.idx, record=stored)
    return record if stored == text else read_exit_record(stored)


def _seen(keeper: Keeper, sent: Compared | Submission) -> float:
    """Return the seconds since a submission was intended, by the clock that says more.

    The time since boot stands still while a machine is paused, and begins anew with it; the clock of people may be set.
    A clock of people that was set back over a start of the machine bounds nothing.
    """
    # Of a submission that was found after a restore, nobody knows when it was intended.
    now, intended = keeper.clock.utc(), sent.intended or keeper.store.grid_job(sent.grid).created
    seconds, by_people = keeper.clock.since_booted(sent.booted), age_seconds(intended, now)
    if seconds is None:
        return math.inf if age_seconds(now, intended) else by_people
    return max(seconds, by_people)


def _cores(keeper: Keeper, grid: int, k: int, n: int) -> int:
    submission = keeper.store.submission(grid, k)
    cores = submission.asked.get("cores") if submission and submission.asked else None
    return cores or asked_for.resources_of(keeper, keeper.store.local_job(grid, n)).cores or 1

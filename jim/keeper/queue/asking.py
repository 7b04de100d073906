"""Asks the batch system about all jobs at once.

A listing can show a job as pending, running, or not at all. None of these is an end: an attempt that good listings no
longer show is in doubt, and settling.py settles the doubt.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache, partial

from jim.errand import Errand
from jim.errors import BatchError
from jim.evidence import queue_words
from jim.evidence.carriers import batch_jobs, carrier_states
from jim.evidence.listing import PENDING, Compared, Doubt, compare, shown, unseen
from jim.idealizer.query_turn import take_turn
from jim.jobs import Live, Submission
from jim.keeper.attempts import arrivals
from jim.keeper.keeper import Keeper
from jim.keeper.looks import LISTING
from jim.keeper.queue.fulfilling import clear
from jim.keeper.queue.looking_up import LOST, adopt
from jim.keeper.unlisted_attempts import Listed
from jim.keeper.workers import NEVER
from jim.model import Kind, Listing, Observation, State, SubmissionState, Witness
from jim.statusdb.store import Store

log = logging.getLogger(__name__)
QUERY = "query"
FEW = 10  # batch jobs, in a message
LINGERS_SECONDS, LATE_LISTINGS = 600.0, 2  # a batch job must have ended in this time after its exit record said so
LINGERS = "it completed more than ten minutes ago, but the batch system still shows it running"
# The batch system has jobs of these, or has no room for them: perhaps because of a job that JIM has given up.
ASKED_ABOUT = SubmissionState.RECORDED, SubmissionState.CONFIRMED, SubmissionState.FULL
# Stored as long as the batch system may have a job of an attempt that has ended. So a keeper that ends before it knows,
# as one without work may at any time, leaves the question to the next one.
MAY_BE_LEFT = "queue_may_be_left"
MOST_SECONDS_ALONE = 86_400.0  # what no cancel ends in a day, somebody else must end: an unused account asks no more


class Asking:
    """The move that asks about all jobs once per interval, if there is any to ask about."""

    def __init__(self) -> None:
        self._waited_for: dict[str, float] = {}  # the last question of each other account that we waited for
        self._odd_words: set[str] = set()  # unknown words of the batch system that are logged already
        self._may_be_left: bool | None = None  # as stored; None: not read yet
        self._alone_since = NEVER  # since when JIM asks only about what may be left, in seconds since boot

    def __call__(self, keeper: Keeper) -> None:
        """Let a worker ask, if the interval is over."""
        if keeper.health.open or not keeper.workers.ready(QUERY):
            return
        now, interval = keeper.clock.boot(), keeper.site.batch.query_seconds
        if has_submissions := keeper.store.any_submission(*ASKED_ABOUT):
            self._alone_since = NEVER
            self._remember(keeper, may_be_left=True)
        elif not self._asks_on(keeper, now):
            keeper.workers.wait(QUERY, 0.0)
            return
        if take_turn(keeper.site.turn_file, interval, now - keeper.workers.due(QUERY), self._waited_for):
            asked = partial(self._asked, keeper, now, after_all=not has_submissions)
            keeper.workers.start(
                Errand(QUERY, partial(_ask, keeper), asked, _could_not_ask, command=True, heeds=(BatchError, OSError))
            )
            keeper.workers.wait(QUERY, interval)

    def _asks_on(self, keeper: Keeper, now: float) -> bool:
        """Tell whether to ask, after the last end, about what the batch system may have kept of ended attempts."""
        self._alone_since = min(self._alone_since, now)
        if self._stored(keeper) and now - self._alone_since >= MOST_SECONDS_ALONE:
            if lingering := keeper.doubts.lingering:
                log.warning(
                    "the batch system still shows %d jobs running a day after the last end, although JIM has cancelled "
                    "them: %s. JIM asks about them no more: let an administrator end them",
                    len(lingering),
                    ", ".join(f"{batch_id}, index {index}" for batch_id, index in sorted(lingering)[:FEW]),
                )
            keeper.doubts.lingering = {}
            self._remember(keeper, may_be_left=False)
        return self._stored(keeper)

    def _stored(self, keeper: Keeper) -> bool:
        if self._may_be_left is None:
            self._may_be_left = bool(keeper.store.fact(MAY_BE_LEFT))
        return self._may_be_left

    def _remember(self, keeper: Keeper, *, may_be_left: bool) -> None:
        if self._stored(keeper) is not may_be_left:
            keeper.store.set_fact(MAY_BE_LEFT, "yes" if may_be_left else "")
            self._may_be_left = may_be_left

    def _asked(self, keeper: Keeper, began: float, compared: Compared, *, after_all: bool) -> None:
        for word in compared.unknown_words - self._odd_words:
            log.warning("the batch system uses a word that its adapter does not know: %r; job state unchanged", word)
        self._odd_words |= compared.unknown_words
        # One command for both: it is repeated ever more seldom while the batch system keeps any of them.
        compared.leftovers += _too_late(keeper, began, compared.lingering)
        if after_all and not compared.leftovers and not keeper.doubts.lingering:
            self._remember(keeper, may_be_left=False)
        take_in(keeper, began, compared)


def _too_late(
    keeper: Keeper, began: float, lingering: Mapping[tuple[str, int], tuple[int, int]]
) -> list[tuple[str, int]]:
    """Tell of batch jobs that two listings show long after their end, and return them: just these are cancelled."""
    now = dict[tuple[str, int], tuple[float, int]]()
    for key, (grid, n) in lingering.items():
        since, late = keeper.doubts.lingering.get(key, (began, 0))
        late += began - since >= LINGERS_SECONDS
        now[key] = since, late
        if late == LATE_LISTINGS:
            log.warning("%d.%d: %s; JIM cancels batch job %s, index %d", grid, n, LINGERS, *key)
            keeper.store.note(grid, "cancelled in the batch system", Witness.QUEUE, LINGERS, n)
    keeper.doubts.lingering = now
    return [key for key, (_, late) in now.items() if late >= LATE_LISTINGS]


def _ask(keeper: Keeper) -> Compared:
    """Read the live attempts, list the queue, and compare. Runs in a worker, with its own reader of the store."""
    with closing(keeper.store.reader()) as store:
        live = list(store.live())  # before the listing: an attempt sent meanwhile must not look absent
        listing = keeper.channel.listing()
        compared = compare(listing, live, keeper.adapter.name_length)
        compared.shown = shown(listing, keeper.adapter.name_length)
        compared.unseen = unseen(compared, keeper.adapter.name_length)
        compared.carriers = carrier_states(listing, live, keeper.adapter.name_length)
        compared.found = dict(_found(keeper, store, listing))
        words = queue_words.grouped(keeper.channel.with_waits(listing), live, keeper.adapter.name_length)
        compared.new_words = store.queue_words.new(words)
        if len(listing) > len(live) - len(compared.missing):  # the listing shows more than the live attempts
            compared.leftovers, compared.lingering = _leftovers(keeper, store, listing, live)
    if compared.missing and not compared.proves_absence:
        compared.proves_absence = keeper.channel.answers()
    return compared


def _found(keeper: Keeper, store: Store, listing: Listing) -> Iterator[tuple[tuple[int, int], str]]:
    """Return submissions with a lost answer that the listing shows; a look for their mark may not have found them."""
    width = keeper.adapter.name_length
    lost = {each.mark[:width]: (each.grid, each.k) for each in store.submissions(*LOST)}
    for (batch_id, _), seen in listing.items() if lost else ():
        if seen.mark[:width] in lost and not seen.state.final:
            yield lost[seen.mark[:width]], batch_id


def _leftovers(
    keeper: Keeper, store: Store, listing: Listing, live: Sequence[Live]
) -> tuple[list[tuple[str, int]], dict[tuple[str, int], tuple[int, int]]]:
    """Return queued jobs whose attempt has ended, and running ones that should have ended with it long ago.

    A batch system may requeue jobs by itself. A job that goes on after its end was reported has not reported it.
    """
    known = batch_jobs(live)
    about = _Senders(store, re.compile(rf"jim-(?:{'|'.join(keeper.hold.instances)})-([0-9]+)-([0-9]+)"))
    left, lingering = list[tuple[str, int]](), dict[tuple[str, int], tuple[int, int]]()
    for key, seen in listing.items():
        if key in known:
            continue
        if seen.state is State.RUNNING and not seen.stays and (whose := about.completed(key[1], seen)):
            lingering[key] = whose
        elif about.is_left(key[1], seen):
            left.append(key)
    return left, lingering


class _Senders:
    """The submissions of the jobs in a listing. Many jobs are of one submission, which is read once."""

    def __init__(self, store: Store, ours: re.Pattern[str]) -> None:
        self._store, self._ours = store, ours
        self._sender, self._counts_no_more = cache(self._read_sender), cache(self._read_whether_it_counts_no_more)

    def is_left(self, idx: int, seen: Observation) -> bool:
        """Tell whether a listed job, which is of no live attempt, is to be cleared."""
        submission = self._sender(seen.mark)
        if submission is None:
            return False
        if seen.state in PENDING or seen.stays:
            attempt = self._store.attempt(submission.grid, submission.k, idx)
            if attempt:
                return bool(attempt.verdict)
        return self._counts_no_more(seen.mark)

    def completed(self, idx: int, seen: Observation) -> tuple[int, int] | None:
        """Return the local job of a listed job whose attempt has completed, also if its outputs were lost later."""
        submission = self._sender(seen.mark)
        attempt = self._store.attempt(submission.grid, submission.k, idx) if submission else None
        if attempt and (attempt.verdict == State.COMPLETED.value or attempt.kind is Kind.OUTPUTS_LOST):
            return attempt.grid, attempt.n
        return None

    def _read_sender(self, mark: str) -> Submission | None:
        named = self._ours.fullmatch(mark)
        submission = self._store.submission(int(named[1]), int(named[2])) if named else None
        return submission if submission and submission.mark == mark else None

    def _read_whether_it_counts_no_more(self, mark: str) -> bool:
        """Tell whether a restore found the submission, ended and without attempts; `over.I` may not reach its jobs."""
        found = self._sender(mark)
        if found is None or found.state is not SubmissionState.ENDED:
            return False
        return not self._store.any_attempt(found.grid, found.k)


def take_in(keeper: Keeper, began: float, compared: Compared) -> None:
    """Take in a compared listing."""
    keeper.store.set_fact("seen", keeper.health.seen)
    if compared.new_words:
        keeper.store.queue_words.put(compared.new_words)
    at = keeper.doubts.listed.at
    keeper.doubts.listed = Listed(at, compared.shown, compared.unseen, compared.in_vain, compared.carriers)
    with keeper.store.transaction():
        for grid, k in compared.confirmed:
            keeper.store.set_submission(grid, k, state=SubmissionState.CONFIRMED)
            arrivals.accepted(keeper, grid, k, Witness.QUEUE)
    _adopt(keeper, compared.found)
    for chunk in compared.changes():
        keeper.workers.later("changes", partial(keeper.store.change, [chunk]))
    if compared.proves_absence:
        keeper.workers.later("changes", partial(_listed, keeper, began))  # once the changes are made
    if compared.leftovers:
        clear(keeper, compared.leftovers)
    if compared.proves_absence:
        _doubt(keeper, compared)


def _listed(keeper: Keeper, began: float) -> None:
    keeper.doubts.listed = keeper.doubts.listed._replace(at=began)
    keeper.looks.wake(LISTING)


def _adopt(keeper: Keeper, found: Mapping[tuple[int, int], str]) -> None:
    for key, batch_id in found.items():
        submission = keeper.store.submission(*key)
        # A look for this submission is under way and may fence it, so the look decides.
        if submission and submission.state in LOST and not keeper.workers.busy(submission.mark):
            adopt(keeper, submission, batch_id)


def _doubt(keeper: Keeper, compared: Compared) -> None:
    now = keeper.clock.boot()
    for key in [key for key in keeper.doubts if key not in compared.missing]:
        del keeper.doubts[key]
    for key, live in compared.missing.items():
        old = keeper.doubts.get(key)
        doubt = replace(old, live=live, last=now, missed=old.missed + 1) if old else Doubt(live, now, now)
        keeper.doubts[key] = replace(doubt, back=key in compared.back, stuck=compared.stuck.get(key, ""))


def _could_not_ask(_: BaseException) -> None:
    """Conclude nothing: only the last listing gets older."""

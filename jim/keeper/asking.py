"""Asking the batch system about all jobs at once.

A listing can say that a job is pending, runs, or is no longer there. None of these is an end: what good listings no
longer show is in doubt, and settled by settling.py.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial

from jim.errors import BatchError
from jim.evidence.listing import PENDING, Compared, Doubt, compare, unseen
from jim.idealizer.query_turn import take_turn
from jim.jobs import Live, Submission
from jim.keeper import arrivals
from jim.keeper.fulfilling import clear
from jim.keeper.keeper import House
from jim.keeper.looking_up import LOST, adopt
from jim.model import Listing, Observation, SubmissionState, Witness
from jim.statusdb.contract import Store

log = logging.getLogger(__name__)


def query(house: House) -> None:
    """Ask once per interval about all jobs, if there are any."""
    now = house.clock.boot()
    if now < house.next_query or house.health.open or house.workers.busy("query"):
        return
    if not house.store.submissions(SubmissionState.RECORDED, SubmissionState.CONFIRMED):
        house.next_query = now
        return
    if not take_turn(house.site.turn_file, house.site.batch.query_seconds, now - house.next_query, house.waited_for):
        return
    house.next_query = now + house.site.batch.query_seconds
    house.workers.start(
        "query", partial(_ask, house), partial(_asked, house, now), partial(_could_not_ask, house), command=True
    )


def _ask(house: House) -> Compared:
    """Read what is live, list the queue, compare. Runs in a worker, with its own reader of the store."""
    with closing(house.store.reader()) as store:
        live = list(store.live())  # before the listing: what is sent meanwhile must not look absent
        listing = house.channel.listing()
        compared = compare(listing, live, house.adapter.name_length)
        if compared.missing:
            compared.unseen = unseen(compared, listing, house.adapter.name_length)
        compared.found = dict(_found(house, store, listing))
        if len(listing) > len(live) - len(compared.missing):  # it shows more than what is live
            compared.leftovers = list(_leftovers(house, store, listing, live))
    if compared.missing and not compared.proves_absence:
        compared.proves_absence = house.channel.answers()
    return compared


def _found(house: House, store: Store, listing: Listing) -> Iterator[tuple[tuple[int, int], str]]:
    """Find the submissions whose answer was lost: a listing may show what a look for their mark did not."""
    width = house.adapter.name_length
    lost = {each.mark[:width]: (each.grid, each.k) for each in store.submissions(*LOST)}
    for (batch_id, _), seen in listing.items() if lost else ():
        if seen.mark[:width] in lost and not seen.state.final:
            yield lost[seen.mark[:width]], batch_id


def _leftovers(house: House, store: Store, listing: Listing, live: Sequence[Live]) -> Iterator[tuple[str, int]]:
    """Find what waits in the queue although its attempt has ended: a batch system may put jobs back by itself."""
    ours = re.compile(rf"jim-(?:{'|'.join(house.hold.instances)})-([0-9]+)-([0-9]+)")
    known = {(each.batch_id, each.idx) for each in live}
    for key, seen in listing.items():
        mark = ours.fullmatch(seen.mark) if key not in known else None
        submission = store.submission(int(mark[1]), int(mark[2])) if mark else None
        if submission and submission.mark == seen.mark and _is_left(store, submission, key[1], seen):
            yield key


def _is_left(store: Store, submission: Submission, idx: int, seen: Observation) -> bool:
    attempt = store.attempt(submission.grid, submission.k, idx)
    if attempt:
        return bool(attempt.verdict) and (seen.state in PENDING or seen.stays)
    # A restore has found a submission of which nothing counts. A running job of it may be out of reach of its `over.I`.
    return submission.state is SubmissionState.ENDED and not store.attempts(submission.grid, k=submission.k)


def _asked(house: House, began: float, compared: Compared) -> None:
    house.store.set_fact("seen", house.health.seen)
    for word in compared.unknown_words - house.odd_words:
        log.warning("the batch system uses a word that its adapter does not know: %r; kept, not acted on", word)
    house.odd_words |= compared.unknown_words
    house.unseen = compared.unseen
    with house.store.transaction():
        for grid, k in compared.confirmed:
            house.store.set_submission(grid, k, state=SubmissionState.CONFIRMED)
            arrivals.accepted(house, grid, k, Witness.QUEUE)
    _adopt(house, compared.found)
    for chunk in compared.changes():
        house.workers.later("changes", partial(house.store.change, [chunk]))
    if compared.proves_absence:
        house.workers.later("changes", partial(setattr, house, "listed", began))  # once the changes are made
    if compared.leftovers:
        clear(house, compared.leftovers)
    if compared.proves_absence:
        _doubt(house, compared)


def _adopt(house: House, found: Mapping[tuple[int, int], str]) -> None:
    for key, batch_id in found.items():
        submission = house.store.submission(*key)
        # Whoever looks for it just now may fence it: that one decides.
        if submission and submission.state in LOST and not house.workers.busy(submission.mark):
            adopt(house, submission, batch_id)


def _doubt(house: House, compared: Compared) -> None:
    now = house.clock.boot()
    for key in [key for key in house.doubts if key not in compared.missing]:
        del house.doubts[key]
    for key, live in compared.missing.items():
        old = house.doubts.get(key)
        doubt = replace(old, live=live, last=now, missed=old.missed + 1) if old else Doubt(live, now, now)
        house.doubts[key] = replace(doubt, back=key in compared.back, stuck=compared.stuck.get(key, ""))


def _could_not_ask(house: House, error: BaseException) -> None:
    """Nothing is proven: the answer ages, that is all."""
    if not isinstance(error, BatchError | OSError):
        raise error
    house.next_query = max(house.next_query, house.health.retry_at)

"""Asking the batch system about all jobs at once.

A listing can say that a job is pending, runs, or is no longer there. None of these is an end: what good listings no
longer show is in doubt, and settled by settle.py.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial

from jim.command import run
from jim.errors import BatchError
from jim.idealizer.answer import read
from jim.idealizer.turn import take_turn
from jim.keeper import arrivals
from jim.keeper.fulfilling import clear
from jim.keeper.keeper import House, Key
from jim.keeper.looking_up import LOST, adopt
from jim.model import FINAL, NEVER, Listing, Observation, State, Witness
from jim.statusdb.rows import Change, Live
from jim.statusdb.sqlite import Store

log = logging.getLogger(__name__)
CHANGED_AT_ONCE = 5000


@dataclass(frozen=True, slots=True)
class Doubt:
    """An attempt that good listings no longer show."""

    live: Live
    since: float  # when it was missed first, in seconds since boot
    last: float  # and last: between the two it may be late, and that is all
    missed: int = 1
    touched: float = -1.0  # its claim's last touch, by the file server's clock; -1: not looked at yet
    silent: float = 0.0  # so many seconds we have looked, and seen no other touch
    looked_at: float = 0.0  # for the last time, in seconds since boot
    started: str = ""  # by its claim
    ended: Observation | None = None  # what accounting said of this attempt's end
    finished: bool = False  # it said that the batch job has ended, whichever start that was of
    told: float = math.inf  # since when it has said so, in seconds since boot
    stuck: str = ""  # why it stays in the queue without having started
    removed: bool = False  # its grid job's directory is not there any more
    back: bool = False  # it had started, and the queue shows it as pending again


@dataclass
class Compared:
    """What a listing means for what is stored."""

    # (grid job, attempt, was, now, reason) → local jobs
    alike: dict[tuple[int, int, State, State, str], list[int]] = field(default_factory=dict)
    confirmed: set[tuple[int, int]] = field(default_factory=set)
    missing: dict[Key, Live] = field(default_factory=dict)
    back: set[Key] = field(default_factory=set)  # of these, the ones that are pending again
    unknown_words: set[str] = field(default_factory=set)
    found: dict[tuple[int, int], str] = field(default_factory=dict)  # submissions whose answer was lost: batch ids
    leftovers: list[tuple[str, int]] = field(default_factory=list)  # in the queue, though their attempt has ended
    unseen: frozenset[tuple[str, str]] = frozenset()  # batch ids and marks of the missing of which it shows nothing
    stuck: dict[Key, str] = field(default_factory=dict)  # why some of the missing could not start, and stay listed
    proves_absence: bool = False

    def remark(self, live: Live, seen: Observation) -> None:
        """Take in what is said of a job beside its state, if that is new."""
        note = _note(seen)
        if note != live.reason and live.state in _NOTED:
            self.alike.setdefault((live.grid, live.attempt, live.state, live.state, note), []).append(live.n)
        if seen.state is State.UNKNOWN:
            self.unknown_words.add(seen.word)

    def end(self, live: Live, seen: Observation) -> None:
        """Take in that a job has ended, whether or not the queue keeps it."""
        key = live.grid, live.k, live.idx
        self.missing[key] = live
        if seen.stays:
            self.stuck[key] = seen.reason

    def changes(self) -> Iterator[Change]:
        """Give what moves, in parts that do not hold the loop for long."""
        for (grid, attempt, was, now, reason), numbers in self.alike.items():
            for at in range(0, len(numbers), CHANGED_AT_ONCE):
                part = numbers[at : at + CHANGED_AT_ONCE]
                yield Change(grid, attempt, was, now, Witness.QUEUE, part, reason)


# What a listing may change; a claim knows better than a listing whether something runs.
_QUEUE_MAY = {
    State.SUBMITTING: (State.SUBMITTED, State.HELD, State.RUNNING, State.SUSPENDED),
    State.SUBMITTED: (State.HELD, State.RUNNING, State.SUSPENDED),
    State.HELD: (State.SUBMITTED, State.RUNNING, State.SUSPENDED),
    State.RUNNING: (State.SUSPENDED,),
    State.SUSPENDED: (State.RUNNING,),
}
_PENDING = (State.SUBMITTED, State.HELD)
_NOTED = (State.SUBMITTED, State.RUNNING)  # of others, what is said with the change
_QUEUE_MAY_UNCLAIMED = {**_QUEUE_MAY, State.RUNNING: (State.SUBMITTED, State.HELD, State.SUSPENDED)}


def query(house: House) -> None:
    """Ask once per interval about all jobs, if there are any."""
    now = house.clock.boot()
    if now < house.next_query or house.health.open or house.workers.busy("query"):
        return
    if not house.store.submissions("recorded", "confirmed"):
        house.next_query = now
        return
    if not take_turn(house.site.turn, house.site.batch.query_seconds, now - house.next_query, house.waited_for):
        return
    house.next_query = now + house.site.batch.query_seconds
    house.workers.start(
        "query", partial(_ask, house), partial(_asked, house, now), partial(_could_not_ask, house), command=True
    )


def _ask(house: House) -> Compared:
    """Read what is live, list the queue, compare. Runs in a worker, with its own reader of the store."""
    with closing(house.store.reader()) as store:
        live = list(store.live())  # before the listing: what is sent meanwhile must not look absent
        answer = run(house.adapter.query_command(), limit=house.site.batch.command_seconds)
        listing = read(house.adapter.parse_query, answer)
        compared = compare(listing, live, house.adapter.name_length)
        if compared.missing:
            compared.unseen = _unseen(compared, listing, house.adapter.name_length)
        compared.found = dict(_found(house, store, listing))
        if len(listing) > len(live) - len(compared.missing):  # it shows more than what is live
            compared.leftovers = list(_leftovers(house, store, listing, live))
    if compared.missing and not compared.proves_absence:
        ping = run(house.adapter.ping_command(), limit=house.site.batch.command_seconds)
        compared.proves_absence = ping.code == 0
    return compared


def compare(listing: Listing, live: Sequence[Live], name_length: int = 1000) -> Compared:
    """Hold a listing against what is stored."""
    result = Compared()
    missing, confirmed, alike = result.missing, result.confirmed, result.alike
    # Written out, with local names: it is run for every job of a listing of 250,000.
    for each in live:
        grid, k, idx, n, attempt, state, started, mark, batch_id, known, reason = each
        seen = listing.get((batch_id, idx))
        # An id can be reused: only together with the mark does it name our job.
        if seen is None or (seen.mark != mark and seen.mark[:name_length] != mark[:name_length]):
            missing[grid, k, idx] = each
            continue
        if not known:
            confirmed.add((grid, k))
        now = seen.state
        if now in FINAL:
            result.end(each, seen)
            continue
        result.proves_absence = True
        if started and now in _PENDING:
            missing[grid, k, idx] = each
            result.back.add((grid, k, idx))
        elif now is not state and now in (_QUEUE_MAY if started else _QUEUE_MAY_UNCLAIMED).get(state, ()):
            alike.setdefault((grid, attempt, state, now, _note(seen)), []).append(n)
        elif reason or seen.reason or now is State.UNKNOWN:
            result.remark(each, seen)
    return result


def _unseen(compared: Compared, listing: Listing, width: int) -> frozenset[tuple[str, str]]:
    """Find which batch ids may be other jobs' now: it shows nothing of ours under them."""
    shown = {(id_, seen.mark[:width]) for (id_, _), seen in listing.items()}
    missing = {(each.batch_id, each.mark) for each in compared.missing.values()}
    return frozenset((id_, mark) for id_, mark in missing if (id_, mark[:width]) not in shown)


def _note(seen: Observation) -> str:
    """Put into words what people should know of a job that goes on."""
    if seen.state is State.UNKNOWN:
        return f"the batch system says {seen.word!r}, which its adapter does not know"
    return f"{NEVER}: {seen.reason}" if seen.state is State.SUBMITTED and seen.reason else seen.reason


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
        mark = ours.fullmatch(seen.mark) if (seen.state in _PENDING or seen.stays) and key not in known else None
        attempt = store.attempt(int(mark[1]), int(mark[2]), key[1]) if mark else None
        submission = store.submission(attempt.grid, attempt.k) if attempt and attempt.verdict else None
        if submission and submission.mark == seen.mark:
            yield key


def _asked(house: House, began: float, compared: Compared) -> None:
    house.health.good()
    house.store.set_fact("seen", house.health.seen)
    for word in compared.unknown_words - house.odd_words:
        log.warning("the batch system uses a word that its adapter does not know: %r; kept, not acted on", word)
    house.odd_words |= compared.unknown_words
    house.unseen = compared.unseen
    with house.store.transaction():
        for grid, k in compared.confirmed:
            house.store.set_submission(grid, k, state="confirmed")
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
    house.health.failed(error)
    house.next_query = max(house.next_query, house.health.retry_at)

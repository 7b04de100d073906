"""Asking the batch system about all jobs at once, and settling the doubts that its answers leave.

A listing can say that a job is pending, runs, or is no longer there. None of these is an end: an end
needs the exit record, or the certainty that there will never be one.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial

from jim import arrivals, verdict, verdicts
from jim.errors import BatchError, JimError
from jim.files import read_regular
from jim.house import House, Key
from jim.idealizer.cancel import clear
from jim.idealizer.run import run
from jim.idealizer.turn import take_turn
from jim.model import FINAL, Listing, Observation, State, Witness
from jim.records import LONGEST_RECORD
from jim.sandbox import fence, submission_directory, trace, was_removed
from jim.statusdb.rows import Change, Live
from jim.statusdb.store import Store

log = logging.getLogger(__name__)
MISSED_TWICE = 2
SETTLED_AT_ONCE = 500
CHANGED_AT_ONCE = 5000
SUPERSEDED = 71  # a wrapper's exit code: another start of the attempt, or the keeper, holds the claim
TOUCHES_MISSED = 3  # after so many a claim's holder is taken for dead, if its batch job has ended, too


@dataclass(frozen=True, slots=True)
class Doubt:
    """An attempt that good listings no longer show."""

    live: Live
    since: float  # when it was missed first, in seconds since boot
    last: float  # and last: between the two it may be late, and that is all
    missed: int = 1
    touched: float = -1.0  # its claim's last touch, by the file server's clock; -1: not looked at yet
    touched_at: float = 0.0  # when we saw that touch first, in seconds since boot
    ended: Observation | None = None  # what accounting said
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
    leftovers: list[tuple[str, int]] = field(default_factory=list)  # in the queue, though their attempt has ended
    proves_absence: bool = False

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
_BEGUN = (State.RUNNING, State.SUSPENDED)
_QUEUE_MAY_UNCLAIMED = {**_QUEUE_MAY, State.RUNNING: (State.SUBMITTED, State.HELD, State.SUSPENDED)}


def query(house: House) -> None:
    """Ask once per interval about all jobs, if there are any."""
    now = house.clock.boot()
    if now < house.next_query or house.health.open or house.workers.busy("query"):
        return
    if not house.store.submissions("recorded", "confirmed"):
        house.next_query = now
        return
    if not take_turn(house.site.turn, house.site.batch.query_seconds, now - house.next_query):
        return
    house.next_query = now + house.site.batch.query_seconds
    house.workers.start("query", partial(_ask, house), partial(_asked, house, now), partial(_could_not_ask, house))


def _ask(house: House) -> Compared:
    """Read what is live, list the queue, compare. Runs in a worker, with its own reader of the store."""
    with closing(house.store.reader()) as store:
        live = list(store.live())  # before the listing: what is sent meanwhile must not look absent
        answer = run(house.adapter.query_command(), limit=house.site.batch.command_seconds)
        listing = house.adapter.parse_query(answer)
        compared = compare(listing, live, house.adapter.name_length)
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
        grid, k, idx, n, attempt, state, started, mark, batch_id, known = each
        seen = listing.get((batch_id, idx))
        # An id can be reused: only together with the mark does it name our job.
        if seen is None or (seen.mark != mark and seen.mark[:name_length] != mark[:name_length]):
            missing[grid, k, idx] = each
            continue
        if not known:
            confirmed.add((grid, k))
        now = seen.state
        if now in FINAL:
            missing[grid, k, idx] = each
            continue
        result.proves_absence = True
        if started and now in _PENDING:
            missing[grid, k, idx] = each
            result.back.add((grid, k, idx))
        elif now is not state and now in (_QUEUE_MAY if started else _QUEUE_MAY_UNCLAIMED).get(state, ()):
            alike.setdefault((grid, attempt, state, now, seen.reason), []).append(n)
        elif now is State.UNKNOWN:
            result.unknown_words.add(seen.word)
    return result


def _leftovers(house: House, store: Store, listing: Listing, live: Sequence[Live]) -> Iterator[tuple[str, int]]:
    """Find what waits in the queue although its attempt has ended: a batch system may put jobs back by itself."""
    ours = re.compile(rf"jim-{house.instance}-([0-9]+)-([0-9]+)")
    known = {(each.batch_id, each.idx) for each in live}
    for key, seen in listing.items():
        mark = ours.fullmatch(seen.mark) if seen.state in _PENDING and key not in known else None
        attempt = store.attempt(int(mark[1]), int(mark[2]), key[1]) if mark else None
        if attempt and attempt.verdict:
            yield key


def _asked(house: House, began: float, compared: Compared) -> None:
    house.health.good()
    house.store.set_fact("seen", house.health.seen)
    for word in compared.unknown_words:
        log.warning("the batch system uses a word that its adapter does not know: %r; kept, not acted on", word)
    with house.store.transaction():
        for grid, k in compared.confirmed:
            house.store.set_submission(grid, k, state="confirmed")
            arrivals.accepted(house, grid, k, Witness.QUEUE)
    for chunk in compared.changes():
        house.workers.later("changes", partial(house.store.change, [chunk]))
    if compared.proves_absence:
        house.workers.later("changes", partial(setattr, house, "listed", began))  # once the changes are made
    if compared.leftovers:
        clear(house, compared.leftovers)
    if compared.proves_absence:
        _doubt(house, compared)


def _doubt(house: House, compared: Compared) -> None:
    now = house.clock.boot()
    for key in [key for key in house.doubts if key not in compared.missing]:
        del house.doubts[key]
    for key, live in compared.missing.items():
        old = house.doubts.get(key)
        doubt = replace(old, live=live, last=now, missed=old.missed + 1) if old else Doubt(live, now, now)
        house.doubts[key] = replace(doubt, back=key in compared.back)


def _could_not_ask(house: House, error: BaseException) -> None:
    """Nothing is proven: the answer ages, that is all."""
    if not isinstance(error, BatchError | OSError):
        raise error
    house.health.failed(error)
    house.next_query = max(house.next_query, house.health.retry_at)


def settle(house: House) -> None:
    """Settle attempts that two good listings did not show."""
    house.store.end_submissions()
    if house.workers.busy("settle"):
        return
    doubts = [doubt for doubt in house.doubts.values() if doubt.missed >= MISSED_TWICE]
    for doubt in [doubt for doubt in doubts if not doubt.live.confirmed]:
        _unconfirmed(house, doubt)
        doubts.remove(doubt)
    if doubts and house.pace_settling():
        chosen = doubts[:SETTLED_AT_ONCE]
        house.workers.start(
            "settle", partial(_settle, house, chosen), partial(_settled, house), partial(_could_not_ask, house)
        )


def _unconfirmed(house: House, doubt: Doubt) -> None:
    """Look for the mark of an id that was told but is never listed: a crash may have lost it."""
    grid, k, idx = doubt.live.grid, doubt.live.k, doubt.live.idx
    submission = house.store.submission(grid, k)
    if submission and submission.state == "recorded":
        reason = f"batch job {submission.batch_id} was promised but is not listed"
        house.store.set_submission(grid, k, state="unknown", reason=reason, tries=0, due=0.0)
    house.doubts.pop((grid, k, idx), None)


@dataclass(frozen=True, slots=True)
class Settled:
    """What a close look at a doubtful attempt brought."""

    doubt: Doubt
    record: str = ""  # its exit record, which had not reached the spool
    lost: bool = False  # it never started and never will
    dead: bool = False  # it started, and nothing of it lives


def _settle(house: House, doubts: Sequence[Doubt]) -> list[Settled]:
    """Ask accounting, then look into the submission directories. Runs in a worker."""
    ended = _history(house, doubts)
    return [_look(house, replace(doubt, ended=ended.get((doubt.live.batch_id, doubt.live.idx)))) for doubt in doubts]


def _history(house: House, doubts: Sequence[Doubt]) -> dict[tuple[str, int], Observation]:
    marks = {doubt.live.batch_id: doubt.live.mark for doubt in doubts if doubt.live.batch_id}
    found: dict[tuple[str, int], Observation] = {}
    ids = sorted(marks)
    for chunk in (ids[at : at + 200] for at in range(0, len(ids), 200)):
        answer = run(house.adapter.history_command(chunk), limit=house.site.batch.command_seconds)
        width = house.adapter.name_length
        for key, seen in house.adapter.parse_history(answer).items():
            if seen.mark[:width] == marks.get(key[0], "")[:width]:
                found[key] = seen
    return found


def _look(house: House, doubt: Doubt) -> Settled:
    live, now = doubt.live, house.clock.boot()
    directory = submission_directory(house.site.work, live.grid, live.k)
    left = trace(directory, live.idx)
    record = left.exit_record
    if record and (record.mark, record.index, record.attempt) == (live.mark, live.idx, live.attempt):
        text = read_regular(directory / f"exit.{live.idx}", LONGEST_RECORD).decode(errors="replace")
        return Settled(doubt, record=text)
    if left.touched != doubt.touched:
        doubt = replace(doubt, touched=left.touched, touched_at=now)
    if doubt.last - doubt.since < house.site.batch.visible_seconds:
        return Settled(doubt)
    if was_removed(house.site.work, directory):
        return Settled(doubt, lost=not live.started, dead=live.started and _is_dead(house, doubt, now))
    claim = left.claim or fence(directory, [live.idx])[live.idx]
    if claim.fence:
        # Where worker nodes do not see the work directory, the keeper's are the only claims: there it is the queue that
        # has told of the start.
        began = not house.adapter.shared_work and live.state in _BEGUN
        return Settled(doubt, lost=not began, dead=began)
    holder = claim.batch and house.adapter.batch_id(claim.batch)
    if doubt.ended and (doubt.ended.code == SUPERSEDED or holder not in ("", live.batch_id)):
        # The batch system accepted or started it twice: what ended was refused, and is not the claim's holder.
        doubt = replace(doubt, ended=None)
    return Settled(doubt, dead=_is_dead(house, doubt, now))


def _is_dead(house: House, doubt: Doubt, now: float) -> bool:
    """Tell whether nothing of a started attempt can live: never on the queue's word alone."""
    if house.adapter.end_is_death and doubt.ended is not None and doubt.ended.state.final:
        return True
    return now - doubt.touched_at > TOUCHES_MISSED * house.site.batch.touch_seconds


def _settled(house: House, results: list[Settled]) -> None:
    with house.store.transaction():
        for settled in results:
            live = settled.doubt.live
            key = (live.grid, live.k, live.idx)
            if key not in house.doubts:  # it was seen meanwhile, or has its verdict
                continue
            looked = settled.doubt
            # A listing may have come since: of the look only what it saw is kept.
            house.doubts[key] = replace(house.doubts[key], touched=looked.touched, touched_at=looked.touched_at)
            wish = verdicts.cancelled(house, live.grid, live.n)
            if settled.record:
                _take_record(house, key, settled.record)
            elif settled.lost:
                verdicts.record(house, key, verdict.of_lost(settled.doubt.ended, cancelled=wish))
            elif settled.dead:
                _note_start(house, key, live.batch_id)
                verdicts.record(
                    house, key, verdict.of_vanished(settled.doubt.ended, back=settled.doubt.back, cancelled=wish)
                )


def _note_start(house: House, key: Key, batch_id: str) -> None:
    """Note the start of what was found dead, if word of it never came."""
    attempt = house.store.attempt(*key)
    if attempt:
        arrivals.begun(house, attempt, "", batch_id)


def _take_record(house: House, key: Key, text: str) -> None:
    try:
        arrivals.ended(house, key, text)
    except JimError as error:
        log.warning("%d: exit record of submission %d, index %d: %s", *key, error)
    house.doubts.pop(key, None)

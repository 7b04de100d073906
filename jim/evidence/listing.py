"""What a listing of the batch system means for what is stored: a listing proves what it shows, and no end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jim.evidence import reasons
from jim.jobs import Change, Key, Live
from jim.model import FINAL, Kind, Listing, Observation, Reason, State, Witness

CHANGED_AT_ONCE = 5000
Note = tuple[Kind, str]  # what a listing says of a job beside its state: a reason that can be the key of a table
NOTHING_NOTED: Note = (Kind.UNKNOWN, "")


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

    # (grid job, attempt, was, now, note) → local jobs
    alike: dict[tuple[int, int, State, State, Note], list[int]] = field(default_factory=dict)
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
        if note != (live.kind, live.reason) and live.state in _NOTED:
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
        for (grid, attempt, was, now, (kind, words)), numbers in self.alike.items():
            for at in range(0, len(numbers), CHANGED_AT_ONCE):
                part = numbers[at : at + CHANGED_AT_ONCE]
                yield Change(grid, attempt, was, now, Witness.QUEUE, part, Reason(kind, words=words))


# What a listing may change; a claim knows better than a listing whether something runs.
_QUEUE_MAY = {
    State.SUBMITTING: (State.SUBMITTED, State.HELD, State.RUNNING, State.SUSPENDED),
    State.SUBMITTED: (State.HELD, State.RUNNING, State.SUSPENDED),
    State.HELD: (State.SUBMITTED, State.RUNNING, State.SUSPENDED),
    State.RUNNING: (State.SUSPENDED,),
    State.SUSPENDED: (State.RUNNING,),
}


PENDING = (State.SUBMITTED, State.HELD)
_NOTED = (State.SUBMITTED, State.RUNNING)  # of others, what is said with the change


_QUEUE_MAY_UNCLAIMED = {**_QUEUE_MAY, State.RUNNING: (State.SUBMITTED, State.HELD, State.SUSPENDED)}


def compare(listing: Listing, live: Sequence[Live], name_length: int = 1000) -> Compared:
    """Hold a listing against what is stored."""
    result = Compared()
    missing, confirmed, alike = result.missing, result.confirmed, result.alike
    # Written out, with local names: it is run for every job of a listing of 250,000.
    for each in live:
        grid, k, idx, n, attempt, state, started, mark, batch_id, known, reason, _ = each
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
        if started and now in PENDING:
            missing[grid, k, idx] = each
            result.back.add((grid, k, idx))
        elif now is not state and now in (_QUEUE_MAY if started else _QUEUE_MAY_UNCLAIMED).get(state, ()):
            alike.setdefault((grid, attempt, state, now, _note(seen)), []).append(n)
        elif reason or seen.reason or now is State.UNKNOWN:
            result.remark(each, seen)
    return result


def unseen(compared: Compared, listing: Listing, width: int) -> frozenset[tuple[str, str]]:
    """Find which batch ids may be other jobs' now: it shows nothing of ours under them."""
    shown = {(id_, seen.mark[:width]) for (id_, _), seen in listing.items()}
    missing = {(each.batch_id, each.mark) for each in compared.missing.values()}
    return frozenset((id_, mark) for id_, mark in missing if (id_, mark[:width]) not in shown)


def _note(seen: Observation) -> Note:
    """Tell what people should know of a job that goes on."""
    if seen.state is State.UNKNOWN:
        return Kind.ODD_WORD, reasons.reason(Kind.ODD_WORD, told=seen.word).words
    if not seen.reason:
        return NOTHING_NOTED
    kind = Kind.NEVER_STARTS if seen.state is State.SUBMITTED else Kind.NOTED
    return kind, reasons.reason(kind, told=seen.reason).words

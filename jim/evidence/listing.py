"""Compares a listing of the batch system with the store: a listing proves what it shows, and no end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jim.evidence import reasons
from jim.evidence.carriers import Carried
from jim.jobs import Change, Key, Live
from jim.model import FINAL, Kind, Listing, Observation, Reason, State, Witness

CHANGED_AT_ONCE = 5000
Note = tuple[Kind, str]  # a listing's further words about a job: a reason, in a form that can be the key of a table
NOTHING_NOTED: Note = (Kind.UNKNOWN, "")


@dataclass(frozen=True, slots=True)
class Doubt:
    """An attempt that good listings no longer show."""

    live: Live
    since: float  # time of the first listing without it, in seconds since boot
    last: float  # time of the last such listing; between the two it may be late
    missed: int = 1
    touched: float = -1.0  # the last touch of its claim, by the file server's clock; -1: not read yet
    silent: float = 0.0  # seconds for which JIM looked and saw no other touch
    looked_at: float = 0.0  # time of the last look, in seconds since boot
    started: str = ""  # start time in the claim
    ended: Observation | None = None  # what accounting says about the end of this attempt
    finished: bool = False  # accounting says that the batch job has ended, whichever start of the attempt it was
    told: float = math.inf  # since when accounting says so, in seconds since boot
    stuck: str = ""  # why it stays in the queue without having started
    removed: bool = False  # its grid job's directory is gone
    back: bool = False  # it had started, but the queue shows it as pending again


@dataclass
class Compared:
    """The meaning of a listing for the stored attempts."""

    # (grid job, attempt, was, now, note) → local jobs
    alike: dict[tuple[int, int, State, State, Note], list[int]] = field(default_factory=dict)
    confirmed: set[tuple[int, int]] = field(default_factory=set)
    missing: dict[Key, Live] = field(default_factory=dict)
    back: set[Key] = field(default_factory=set)  # those of `running` that are pending again
    unknown_words: set[str] = field(default_factory=set)
    # Submissions whose answer was lost: their batch ids.
    found: dict[tuple[int, int], str] = field(default_factory=dict)
    leftovers: list[tuple[str, int]] = field(default_factory=list)  # in the queue, although their attempt has ended
    # Batch jobs that run long after their attempt completed, with grid job and number of the local job.
    lingering: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    # Batch ids and names that the listing shows, and those batch ids and marks of missing attempts that are not shown.
    shown: frozenset[tuple[str, str]] = frozenset()
    unseen: frozenset[tuple[str, str]] = frozenset()
    stuck: dict[Key, str] = field(default_factory=dict)  # why some missing attempts could not start and stay listed
    in_vain: dict[Key, str] = field(default_factory=dict)  # why some attempts in the queue can never start
    # What the listing says anew of waiting jobs: (grid job, submission, state, words) → jobs (queue_words.py).
    new_words: dict[tuple[int, int, str, str], int] = field(default_factory=dict)
    carriers: Mapping[tuple[str, int], State] = field(default_factory=dict)  # those of live attempts that are listed
    proves_absence: bool = False

    def remark(self, live: Live, seen: Observation) -> None:
        """Record the further words about a job, if they are new."""
        note = _note(seen)
        if note[0] is Kind.NEVER_STARTS and live.state is State.SUBMITTED:
            self.in_vain[live.grid, live.k, live.idx] = seen.reason
        if note != (live.kind, live.reason) and live.state in _NOTED:
            self.alike.setdefault((live.grid, live.attempt, live.state, live.state, note), []).append(live.n)
        if seen.state is State.UNKNOWN:
            self.unknown_words.add(seen.word)

    def end(self, live: Live, seen: Observation) -> None:
        """Record that a job has ended, whether or not the queue keeps it."""
        key = live.grid, live.k, live.idx
        self.missing[key] = live
        if seen.stays:
            self.stuck[key] = seen.reason

    def changes(self) -> Iterator[Change]:
        """Return the changes, in parts that do not block the loop for long."""
        for (grid, attempt, was, now, (kind, words)), numbers in self.alike.items():
            for at in range(0, len(numbers), CHANGED_AT_ONCE):
                part = numbers[at : at + CHANGED_AT_ONCE]
                yield Change(grid, attempt, was, now, Witness.QUEUE, part, Reason(kind, words=words))


# States that a listing may change; a claim knows better whether an attempt runs.
_QUEUE_MAY = {
    State.SUBMITTING: (State.SUBMITTED, State.HELD, State.RUNNING, State.SUSPENDED),
    State.SUBMITTED: (State.HELD, State.RUNNING, State.SUSPENDED),
    State.HELD: (State.SUBMITTED, State.RUNNING, State.SUSPENDED),
    State.RUNNING: (State.SUSPENDED,),
    State.SUSPENDED: (State.RUNNING,),
}


PENDING = (State.SUBMITTED, State.HELD)
_NOTED = (State.SUBMITTED, State.RUNNING)  # for other states, further words go with the change


_QUEUE_MAY_UNCLAIMED = {**_QUEUE_MAY, State.RUNNING: (State.SUBMITTED, State.HELD, State.SUSPENDED)}


def compare(listing: Listing, live: Sequence[Live], name_length: int = 1000) -> Compared:
    """Compare a listing with the stored attempts."""
    result = Compared()
    missing, confirmed, alike = result.missing, result.confirmed, result.alike
    carried = Carried(listing, name_length)
    # Written in full, with local names: this runs for every job of a listing of 250,000.
    for each in live:
        grid, k, idx, n, attempt, state, started, mark, batch_id, known, reason, _, _, carriers = each
        seen = carried.of(each) if carriers else listing.get((batch_id, idx))
        # Batch ids are reused: only together with the mark does an id identify JIM's job.
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


def shown(listing: Listing, width: int) -> frozenset[tuple[str, str]]:
    """Return the batch ids that a listing shows, with the names of their jobs as far as all listings show them."""
    names = {(id_, seen.mark) for (id_, _), seen in listing.items()}
    return frozenset((id_, name[:width]) for id_, name in names)


def unseen(compared: Compared, width: int) -> frozenset[tuple[str, str]]:
    """Return the batch ids that may now belong to other jobs: the listing shows none of JIM's under them."""
    missing = {(each.batch_id, each.mark) for each in compared.missing.values()}
    return frozenset((id_, mark) for id_, mark in missing if (id_, mark[:width]) not in compared.shown)


def _note(seen: Observation) -> Note:
    """Return what people should know about a job that continues."""
    if seen.state is State.UNKNOWN:
        return Kind.ODD_WORD, reasons.reason(Kind.ODD_WORD, told=seen.word).words
    if not seen.reason:
        return NOTHING_NOTED
    kind = Kind.NEVER_STARTS if seen.state is State.SUBMITTED else Kind.NOTED
    return kind, reasons.reason(kind, told=seen.reason).words

"""What is stored of a grid job, and what moves work with: frozen values, without a word of SQL."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from jim.model import NO_REASON, Kind, Piece, Reason, State, Step, SubmissionState, Witness

HELD = math.inf  # when a local job is due that JIM holds, until a person says what becomes of it


@lru_cache(2)  # a store gives a grid job in work the same text each time, which may hold the files of a dataset
def _attributes(text: str) -> dict[str, Any]:
    attributes: dict[str, Any] = json.loads(text)
    return attributes


@dataclass(frozen=True)
class GridJob:
    """One request, and where JIM is with it."""

    id: int
    key: str
    job_type: str
    owner: str
    step: Step
    size: int
    events_per_job: int
    why: str
    wish: str
    outcome: str
    reason: str
    result: Mapping[str, Any]
    started: bool
    submissions: int
    tries: int
    due: float
    created: str
    updated: str
    request_text: str
    splitter: str = ""  # that the request names
    priority: int = 0
    nonce: str = ""  # made by the door; a version before made none
    place: str = ""  # the name of its directory; empty: it has none
    door: str = ""  # in whose words its polls are answered; empty: the default one

    @cached_property
    def request(self) -> dict[str, Any]:
        """Give the checked attributes. Read when asked for: they may be large, and most looks do not need them."""
        return _attributes(self.request_text)

    @property
    def is_test(self) -> bool:
        """Tell whether it was a test; only what may be one is read, for requests may be large."""
        return '"test": "yes"' in self.request_text and bool(self.request.get("test") == "yes")


@dataclass(frozen=True, slots=True)
class LocalJob:
    """One piece given to the batch system, and its latest attempt."""

    grid: int
    n: int
    state: State
    piece: Piece
    attempt: int
    submission: int | None
    spent: int
    recovery: tuple[str, ...]
    wish: str
    witness: str
    reason: str
    due: float
    updated: str
    kind: Kind = Kind.UNKNOWN  # of the reason, and its facts
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def held(self) -> bool:
        """Tell whether JIM holds it, and not the batch system."""
        return self.state is State.WAITING and self.due == HELD


@dataclass(frozen=True, slots=True)
class Submission:
    """One batch command."""

    grid: int
    k: int
    mark: str
    size: int
    state: SubmissionState
    batch_id: str
    tries: int
    reason: str
    due: float
    updated: str
    wall_seconds: int | None = None  # that it is sent with, where that is known
    trouble: str = ""  # why it could not be looked for just now
    kind: Kind = Kind.UNKNOWN  # of the reason, and its facts
    facts: Mapping[str, Any] = field(default_factory=dict)


# Submissions of which it is not decided yet whether the batch system has them.
UNDECIDED = (
    SubmissionState.INTENDED,
    SubmissionState.UNKNOWN,
    SubmissionState.FULL,
    SubmissionState.REFUSED,
    SubmissionState.CANCELLED,
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a local job."""

    grid: int
    k: int
    idx: int
    n: int
    attempt: int
    host: str
    started: str
    record: str
    verdict: str
    reason: str
    updated: str
    over: str = ""  # how it is to end, once it is given up in the submission directory, too
    kind: Kind = Kind.UNKNOWN  # of the reason, and its facts
    facts: Mapping[str, Any] = field(default_factory=dict)


def whole_reason(row: LocalJob | Submission | Attempt) -> Reason:
    """Give the whole reason of a row."""
    return Reason(row.kind, row.facts, row.reason)


class Alike(NamedTuple):
    """Local jobs of which the same is told."""

    reason: Reason
    times: int


class Live(NamedTuple):
    """One attempt without a verdict, as evidence is compared with it. Made by the 100,000: hence a tuple."""

    grid: int
    k: int
    idx: int
    n: int
    attempt: int
    state: State
    started: bool
    mark: str
    batch_id: str
    confirmed: bool
    reason: str  # what a listing has said of it
    kind: Kind


class Ended(NamedTuple):
    """One local job of a grid job that has ended, with the exit record of its last attempt, if it left one."""

    n: int
    state: str
    attempt: int
    reason: str
    k: int
    idx: int
    record: str


@dataclass(frozen=True, slots=True)
class Change:
    """Local jobs that move alike: those of them that still are where the evidence found them."""

    grid: int
    attempt: int
    was: State
    now: State
    witness: Witness
    numbers: Sequence[int]
    reason: Reason = NO_REASON


@dataclass(frozen=True, slots=True)
class Journal:
    """One line of the journal."""

    seq: int
    at: str
    grid: int
    n: int | None
    attempt: int | None
    was: str
    now: str
    witness: str
    reason: str


Key = tuple[int, int, int]  # an attempt: grid job, submission, index

"""The values that the store keeps and the keeper's moves use: frozen, without SQL."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from jim.model import NO_REASON, NOTHING, Kind, Piece, Reason, State, Step, SubmissionState, Witness

HELD = math.inf  # the due time of a local job that JIM holds until a person decides
# The names of a payload's variables that tell who has sent it, or hold a secret.
PRIVATE = re.compile(
    r"contact|credential|grid_global|passw|proxy|secret|token|voms|x509|(?:^|_)(?:dn|vo|fqans?)(?:_|$)", re.IGNORECASE
)
NOT_SHOWN = "(not shown)"
OF_TASK = "task:"  # the first letters of the keys of grid jobs that tasks hand in


def public(value: Any) -> Any:
    """Return a value of a request for all who may read requests: of private variables, the names alone."""
    if not isinstance(value, Mapping):
        return value
    return {name: NOT_SHOWN if each and PRIVATE.search(name) else public(each) for name, each in value.items()}


@lru_cache(2)  # the store returns the same text each time; it may hold the files of a dataset
def _attributes(text: str) -> dict[str, Any]:
    attributes: dict[str, Any] = json.loads(text)
    return attributes


class _GridJob(NamedTuple):
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
    splitter: str = ""  # the splitter that the request names
    priority: int = 0
    nonce: str = ""  # the door makes it; grid jobs of an older version have none
    place: str = ""  # the name of its directory; empty: it has none
    door: str = ""  # the door whose words polls use; empty: the default door
    version: int = 0  # grows with each transaction that changes anything of the grid job
    room: int | None = None  # how many local jobs the batch system may have of it; None: no limit of its own
    realm: str = ""  # which files its sender may name (jim/site/realm.py); empty: the account itself has sent it
    came_from: str = ""  # the grid job G, or the local job G.n, whose work it does


class GridJob(_GridJob):
    """One request, and its progress."""

    @cached_property
    def request(self) -> dict[str, Any]:
        """Return the checked attributes. They are parsed on demand: they may be large, and are rarely needed."""
        return _attributes(self.request_text)

    @property
    def public_request(self) -> dict[str, Any]:
        """Return the attributes for all who may read requests; only a table has private values."""
        return {name: public(value) for name, value in self.request.items()}

    @property
    def name(self) -> str:
        """Return its name for people; most have none. Only requests with the word are parsed."""
        return str(self.request.get("name") or "") if '"name": "' in self.request_text else ""

    @property
    def is_of_task(self) -> bool:
        """Tell whether a task has handed it in."""
        return self.key.startswith(OF_TASK)

    @property
    def is_test(self) -> bool:
        """Tell whether it is a test. Only requests with the word are parsed, because they may be large."""
        return '"test": "yes"' in self.request_text and bool(self.request.get("test") == "yes")


class LocalJob(NamedTuple):
    """One piece of a grid job, and its latest attempt."""

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
    kind: Kind = Kind.UNKNOWN  # of the reason, with its facts
    facts: Mapping[str, Any] = NOTHING
    changed: Mapping[str, Any] = NOTHING  # attributes that its further attempts have instead of the request's

    @property
    def own(self) -> dict[str, Any]:
        """Return the attributes that are not those of the request."""
        return {**self.piece.attributes, **self.changed}

    @property
    def held(self) -> bool:
        """Tell whether JIM holds it; the batch system may hold jobs, too."""
        return self.state is State.WAITING and self.due == HELD


class Submission(NamedTuple):
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
    wall_seconds: int | None = None  # the time limit of its jobs, if known
    trouble: str = ""  # why JIM could not look for it just now
    kind: Kind = Kind.UNKNOWN  # of the reason, with its facts
    facts: Mapping[str, Any] = NOTHING
    asked: Mapping[str, Any] = NOTHING  # the resources of its jobs; empty if they are not known
    intended: str = ""  # when; empty if that is not known
    booted: str = ""  # the same moment, as `Clock.booted` gives it; empty if that is not known
    carriers: int = 0  # batch jobs that run its attempts; 0: each attempt is a batch job of its own


# Submissions that the batch system may or may not have.
UNDECIDED = (
    SubmissionState.INTENDED,
    SubmissionState.UNKNOWN,
    SubmissionState.FULL,
    SubmissionState.REFUSED,
    SubmissionState.CANCELLED,
)


def is_unwritten(submission: Submission) -> bool:
    """Tell whether the batch command has to wait: JIM could not write what the submission needs."""
    return submission.state is SubmissionState.INTENDED and bool(submission.reason) and submission.kind is Kind.UNKNOWN


class Attempt(NamedTuple):
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
    over: str = ""  # how it must end, once that is written in the submission directory
    kind: Kind = Kind.UNKNOWN  # of the reason, with its facts
    facts: Mapping[str, Any] = NOTHING
    nonce: str = ""  # of its claim, from the report of its start until its verdict; empty if it is not known
    carrier: int = 0  # the batch job of its submission that has claimed it; 0: none, or it is a batch job of its own


def whole_reason(row: LocalJob | Submission | Attempt) -> Reason:
    """Return the whole reason of a row."""
    return Reason(row.kind, row.facts, row.reason)


class Alike(NamedTuple):
    """Local jobs with the same reason."""

    reason: Reason
    times: int


class Live(NamedTuple):
    """One attempt without a verdict, for comparison with evidence. There may be 100,000: hence a tuple."""

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
    reason: str  # the further words of a listing about it
    kind: Kind
    carrier: int = 0  # the batch job that has claimed it; 0: none yet, or it is a batch job of its own
    carriers: int = 0  # the batch jobs of its submission; 0: it is one of its own


class Compared(NamedTuple):
    """An attempt that evidence has arrived of, with what decides how the evidence is taken in."""

    grid: int
    k: int
    idx: int
    n: int
    attempt: int
    live: bool  # it has no verdict, and its local job has no later attempt
    started: bool
    mark: str
    confirmed: bool  # the submission, by the batch system's answer, a listing or a claim
    state: State  # of the local job, with its wish
    wish: str
    grid_started: bool
    nonce: str  # of its claim; empty if that is not known
    intended: str  # when its submission was, twice: by the clock, and since boot; empty if that is not known
    booted: str


class Ended(NamedTuple):
    """A local job of a grid job that has ended, with the exit record of its last attempt, if there is one."""

    n: int
    state: str
    attempt: int
    reason: str
    k: int
    idx: int
    record: str


class Change(NamedTuple):
    """A change of several local jobs; it applies to those that are still where the evidence found them."""

    grid: int
    attempt: int
    was: State
    now: State
    witness: Witness
    numbers: Sequence[int]
    reason: Reason = NO_REASON
    spent: int = 0  # attempts that count against the limit from now on


class Journal(NamedTuple):
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


VERIFIED = "gatekeeper:"


class Sender(NamedTuple):
    """Who sent a grid job. JIM verifies no signature, so a proxy only claims its DN: anybody can make one."""

    dn: str = ""
    fqans: tuple[str, ...] = ()  # groups and roles in a VO, as the proxy claims; the first one counts
    contact: str = ""  # the gatekeeper's name for the grid job
    known: bool = False  # the gatekeeper has named the DN, of whom it has authenticated; otherwise the DN is claimed

    @property
    def counted_as(self) -> str:
        """Return the words under which grid jobs of one sender count together; empty: nobody knows the sender.

        Whoever only claims a DN does not count as the one whom a gatekeeper has authenticated. DNs begin with a slash.
        """
        return f"{VERIFIED}{self.dn}" if self.known else self.dn

    @property
    def words(self) -> str:
        """Return the DN for people."""
        return f"{self.dn} (as the gatekeeper says)" if self.known else f"{self.dn} (claimed by the proxy)"

    @property
    def vos(self) -> tuple[str, ...]:
        """Return the claimed VOs: the first part of each FQAN."""
        return tuple(dict.fromkeys(each.strip("/").partition("/")[0] for each in self.fqans))

    @property
    def vo(self) -> str:
        """Return the claimed VO that counts."""
        return (*self.vos, "")[0]


def sender_of(said: Mapping[str, Any]) -> Sender:
    """Read who sent a request, as a door wrote it."""
    fqans = tuple(each for each in said.get("fqans", ()) if isinstance(each, str))
    return Sender(str(said.get("dn", "")), fqans, str(said.get("contact", "")), said.get("known") is True)


class AtDoor(NamedTuple):
    """What a door keeps of a grid job."""

    after: int = 0  # the grid job of the same key before; nothing is sent until it has finished
    cancelled: bool = False  # by this door itself: the next submission with the key begins another grid job
    places: Mapping[str, Any] = NOTHING  # where the outputs belong; empty: the gatekeeper does not take them
    placed: str = ""  # PLACED, or why the outputs could not be placed; empty: not yet

    @property
    def waits(self) -> bool:
        """Tell whether the outputs, if the grid job has finished, are still to be placed."""
        return bool(self.places) and not self.placed and not self.cancelled


PLACED = "placed"


class Used(NamedTuple):
    """What a completed local job has used."""

    events: int
    cpu_per_event: float  # seconds
    memory_mb: int | None  # at its peak, if that was measured


class Unaccounted(NamedTuple):
    """An ended attempt whose line of the accounting is to be written."""

    seq: int
    at: str  # when it ended, by the keeper's clock
    grid: int
    idx: int  # of its batch job in an array
    n: int
    attempt: int
    host: str
    started: str
    record: str
    verdict: str
    mark: str
    batch_id: str
    size: int  # of the array
    piece: Piece
    asked: Mapping[str, Any] = NOTHING  # the resources that it was sent with; empty if they are not known
    carried: bool = False  # its batch job had several


Key = tuple[int, int, int]  # identifies an attempt: grid job, submission, index

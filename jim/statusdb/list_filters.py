"""The filters of lists as values, without SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from jim.model import Kind, State

LONGEST_PARSED = 64 * 1024  # characters of a request: a list must not parse megabytes for a name


class GridJobsAsked(NamedTuple):
    """Filters for grid jobs: all given filters must match; several values of one filter mean any of these."""

    steps: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    herds: tuple[str, ...] = ()
    outcomes: tuple[str, ...] | None = None  # of finished grid jobs; together with `also`. None: any
    also: tuple[int, ...] = ()  # unfinished grid jobs that match, as the caller knows
    words: tuple[str, ...] = ()  # each is in the type, owner, reason or key, or is the number
    names: bool = False  # or each is in the name; only for whoever may see requests
    since: str = ""  # created at this time or later
    until: str = ""  # created before this time
    failed: bool = False  # some of its local jobs did not complete
    folded: bool = False  # without those of tasks
    tasks: tuple[int, ...] = ()  # only those of these tasks
    masters: tuple[int, ...] = ()  # only these, and those that do work of these
    changed: bool = False  # ordered by last change, not by number
    after: tuple[str, int] | None = None  # change and number of the last row before


class LocalJobsAsked(NamedTuple):
    """Filters for the local jobs of a grid job: all given filters must match."""

    states: tuple[State, ...] = ()
    reasons: tuple[str, ...] = ()  # as written; * stands for any words
    hosts: tuple[str, ...] = ()  # an attempt ran on one of these
    attempts: tuple[int, ...] = ()  # number of the latest attempt
    held: bool | None = None  # held by JIM until a person decides
    phases: tuple[str, ...] = ()  # published phases
    submissions: tuple[int, ...] = ()  # submissions of the latest attempt
    numbers: tuple[tuple[int, int], ...] = ()  # ranges, both ends included
    after: int = -1


class LocalJobSeen(NamedTuple):
    """One local job in a list; a tuple, as lists have thousands."""

    n: int
    state: State
    attempt: int
    submission: int | None
    held: bool
    wish: str
    witness: str
    reason: str
    kind: Kind
    updated: str
    host: str  # of the latest attempt
    started: str


class HostSeen(NamedTuple):
    """The attempts of a grid job on one host, by result."""

    host: str
    attempts: int
    failed: int  # those that did not complete, tried again or not
    last_failure: str


class HostTotal(NamedTuple):
    """All attempts of a site on one host, by result."""

    host: str
    started: int
    running: int
    completed: int
    failed: int  # tried again or not; not those that someone cancelled
    last_failure: str
    last_success: str

    @property
    def share(self) -> float:
        """Return the share of failures among attempts that completed or failed."""
        return self.failed / (self.completed + self.failed) if self.failed else 0.0


class AttemptSeen(NamedTuple):
    """One attempt on a host."""

    host: str
    grid: int
    k: int
    idx: int
    n: int
    attempt: int
    started: str
    verdict: str  # empty: it still runs
    reason: str
    updated: str
    record: str
    kind: Kind


class GridJobOnHost(NamedTuple):
    """The attempts of one grid job on one host."""

    grid: int
    attempts: int
    failed: int


class Minute(NamedTuple):
    """Changes of local jobs in one minute."""

    at: str  # to the minute
    what: str
    times: int


class Query(NamedTuple):
    """A translated expression: SQL whose rows are the results in the order of documents."""

    sql: str
    element: str  # of each result, or of the attribute that is the result; empty: the only result is a number
    attribute: str = ""  # empty: the result is the element


class Detail(NamedTuple):
    """One publication."""

    n: int  # -1: about the grid job itself
    name: str
    content: str
    updated: str
    attempt: int = 0  # that published it
    late: int = 0  # whether it came after the verdict on that attempt
    valid: str = ""  # ?: not yet compared with a grammar; else how it differs from the grammar


class Publisher(NamedTuple):
    """An attempt that publishes."""

    grid: int
    n: int
    attempt: int
    mark: str
    verdict: str
    ended: str  # when the verdict was recorded
    latest: int  # attempt of the local job
    job_type: str


class Refused(NamedTuple):
    """The publications of a local job that were not stored."""

    refused: int = 0
    dropped: int = 0  # they came too late


class PhaseSeen(NamedTuple):
    """The progress of a phase: of one local job, or added up."""

    name: str
    unit: str
    done: int
    total: int
    local_jobs: int
    updated: str  # of the newest
    attempt: int = 0  # of one local job
    late: int = 0


class Unchecked(NamedTuple):
    """A publication that is not yet compared with the grammar of its job type."""

    grid: int
    n: int
    name: str
    content: str
    job_type: str


class GroupSeen(NamedTuple):
    """A group of a task, and what is counted of it by state."""

    group: str
    closed: str  # since when; empty: it is open
    items: Mapping[str, int]
    pieces: Mapping[str, int]


class ItemsAsked(NamedTuple):
    """Filters for the items of a task: all given filters must match."""

    states: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # patterns; * stands for any characters
    piece: int | None = None  # only those in this piece
    after: str = ""  # the name of the last row before


class ItemSeen(NamedTuple):
    """One item in a list."""

    id: int
    name: str
    grp: str
    state: str
    size: int
    since: float  # when it came, in seconds since 1970
    note: str


class PiecesAsked(NamedTuple):
    """Filters for the pieces of a task: all given filters must match."""

    states: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    waves: tuple[int, ...] = ()
    reasons: tuple[str, ...] = ()  # as written; * stands for any words
    after: int = -1


class OutputsAsked(NamedTuple):
    """Filters for the outputs of a task: all given filters must match."""

    states: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()  # names of output pools
    groups: tuple[str, ...] = ()
    after: tuple[int, str, int] = (-1, "", 0)  # piece, output pool and number of the last row before


class PieceSeen(NamedTuple):
    """One piece in a list."""

    p: int
    grp: str
    state: str
    wave: int
    n: int
    attempts: int  # in earlier waves
    reason: str
    ended: float  # in seconds since 1970; 0: it has not
    grid: int  # of its wave; 0: none yet


class TaskFailures(NamedTuple):
    """Failed pieces of a task with the same reason."""

    reason: str
    kind: Kind
    times: int
    first: int  # piece


class QueueWords(NamedTuple):
    """What the batch system says of waiting jobs of one submission; it decides nothing."""

    k: int
    state: str  # submitted or held
    words: str
    jobs: int  # in the last good listing
    since: str  # when a listing first said so of any of them

    def facts(self) -> dict[str, Any]:
        """Return it as all documents show it."""
        facts = {"submission": self.k, "state": self.state, "words": self.words}
        return {**facts, "count": self.jobs, "since": self.since}


class LastLine(NamedTuple):
    """The last line of stderr that failed local jobs with one reason share."""

    line: str
    times: int  # how many of those that were read end with it
    read: int

"""The words JIM is written in: frozen values and the rules between them. No I/O."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any, NamedTuple

# A batch command carries its submission's mark in its environment, so that it is found again after our
# own death without a moment in which it lives unrecorded.
MARK_VARIABLE = "JIM_COMMAND_OF"
KEEPER_ENDS = "the keeper ends: "  # marks the line of a keeper's log that holds its last words
MOST_PRIORITY = 1000  # of a grid job; the least is -1000


class State(Enum):
    """Where a local job is. Values are the words shown and stored."""

    __hash__ = object.__hash__  # each is one object, and a listing looks up 100,000 of them

    WAITING = "waiting"  # not sent yet
    SUBMITTING = "submitting"  # the batch command's outcome is not known yet
    SUBMITTED = "submitted"
    RUNNING = "running"
    COMPLETING = "completing"  # exit record seen, outputs not yet verified
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"
    HELD = "held"
    SUSPENDED = "suspended"
    NEW = "new"  # given up before it was ever sent
    COMPLETED_FROZEN = "completed_frozen"  # split again: others do its work now, and it counts no more
    FAILED_FROZEN = "failed_frozen"
    UNKNOWN = "unknown"  # only an adapter says this: a word it does not know; never stored

    @property
    def final(self) -> bool:
        """No evidence changes it any more."""
        return self in FINAL


FROZEN = frozenset({State.COMPLETED_FROZEN, State.FAILED_FROZEN})
# The batch system has it, or may have it.
IN_BATCH = (
    State.SUBMITTING,
    State.SUBMITTED,
    State.HELD,
    State.RUNNING,
    State.SUSPENDED,
    State.COMPLETING,
)
FINAL = frozenset({State.COMPLETED, State.FAILED, State.KILLED, State.NEW}) | FROZEN


class Step(Enum):
    """What JIM does next with a grid job."""

    ACCEPTED = "accepted"
    RESOLVED = "resolved"
    SPLIT = "split"
    ACTIVE = "active"
    COLLECTING = "collecting"
    FINISHED = "finished"


class Standing(StrEnum):
    """Where a grid job is, as gatekeepers know it: each door has its own words for these."""

    ACCEPTED = "accepted"
    PENDING = "pending"
    ACTIVE = "active"  # some local job has started
    SUSPENDED = "suspended"
    DONE = "done"  # completed
    FAILED = "failed"
    CANCELLED = "cancelled"  # also if a local job had failed before

    @property
    def final(self) -> bool:
        """The grid job has ended."""
        return self in (Standing.DONE, Standing.FAILED, Standing.CANCELLED)


class SubmissionState(StrEnum):
    """Where a submission is. Values are the words shown and stored."""

    INTENDED = "intended"  # its batch command is to be run
    UNKNOWN = "unknown"  # its answer was lost: the batch system may have it
    FULL = "full"  # likewise, though it said that it has no room
    REFUSED = "refused"  # it said no; to be fenced
    CANCELLED = "cancelled"  # before it was sent, as far as is known; to be fenced
    RECORDED = "recorded"  # the batch system has told its id
    CONFIRMED = "confirmed"  # a listing or a claim has shown it
    VOID = "void"  # nothing of it can start
    ENDED = "ended"  # all its attempts have their verdict


class Verb(StrEnum):
    """What people wish of grid jobs and local jobs."""

    CANCEL = "cancel"
    SUSPEND = "suspend"
    RESUME = "resume"
    RETRY = "retry"
    FORCE = "force"
    RESPLIT = "resplit"
    EDIT = "edit"
    PRIORITY = "priority"


class Kind(StrEnum):
    """What a reason is about: what policies read of it. Values are stored; docs/architecture.md says how to add one."""

    UNKNOWN = ""  # a person's words, or a reason of a version before
    # What an exit record tells
    EXIT = "exit"
    KILLED = "killed"  # by a signal that no payload sends itself
    WARNED = "warned"  # the batch system had sent a signal
    LACKING = "lacking"  # the worker node has not what the site says of it
    OVER_TIME = "over time"  # it was killed, and had run for longer than it may
    NOT_TAKEN = "outputs not taken"
    OUTPUTS_DIFFER = "outputs differ"  # from what the exit record says
    # What accounting tells
    ACCOUNTING = "accounting"  # none of what follows
    TIME_LIMIT = "time limit"
    CPU_LIMIT = "cpu limit"
    TIME_OR_MEMORY = "time or memory limit"
    NODE = "node"  # the node has failed, and not what ran there
    # How else an attempt ends
    LOST = "lost"
    VANISHED = "vanished"
    PUT_BACK = "put back"  # into the queue, by the batch system, after it had started
    REMOVED = "removed"  # its directory was
    CANCELLED = "cancelled"
    NOT_ACCEPTED = "not accepted"
    REFUSED = "refused"
    TOO_MANY = "too many"
    NEVER_SENT = "never sent"
    NOT_MADE = "not made"  # it has failed on its creation
    # What became of a batch command
    UNCLEAR = "unclear"
    NO_ANSWER = "no answer"  # unclear, in words of a lost answer
    STUMBLED = "stumbled"  # its adapter cannot read an answer
    NOT_NOW = "not now"
    NOT_STARTED = "not started"
    NOT_LISTED = "not listed"  # it was accepted, and is not in the queue
    # What a listing says of what waits or runs
    NEVER_STARTS = "never starts"
    ODD_WORD = "odd word"
    NOTED = "noted"
    # Why else a local job is where it is
    WISHED = "wished"
    RESTORED = "restored"

    @classmethod
    def _missing_(cls, value: object) -> Kind:
        """Take a kind of a later version for unknown: nothing is decided by it."""
        return cls.UNKNOWN


class Witness(Enum):
    """Who says so, strongest first."""

    EXIT_RECORD = "exit record"
    CLAIM = "claim"
    ACCOUNTING = "accounting"
    QUEUE = "queue"
    FENCE = "fence"  # the keeper holds the claim: that attempt never starts
    SUBMISSION = "submission"  # the batch system's answer to the submission
    USER = "user"
    KEEPER = "keeper"


_AS_SUBMITTED = frozenset({State.WAITING, State.SUBMITTING, State.SUBMITTED, State.HELD})
_AS_RUNNING = frozenset({State.RUNNING, State.COMPLETING, State.SUSPENDED})


def roll_up(counts: Mapping[State, int], *, strict: bool = False) -> State:
    """Derive a grid job's status from how many local jobs are in each state.

    Any not yet running → submitted; any running → running; any failed → failed; any completed →
    completed; else killed. `strict`, a site's choice: any killed → killed, before completed. `new` (given up
    before submission) and what is frozen do not count; nothing else → new.
    """
    present = {state for state, count in counts.items() if count}
    if present & _AS_SUBMITTED:
        return State.SUBMITTED
    if present & _AS_RUNNING:
        return State.RUNNING
    others = (State.KILLED, State.COMPLETED) if strict else (State.COMPLETED, State.KILLED)
    return next((state for state in (State.FAILED, *others) if state in present), State.NEW)


BATCH_NAME = r"[A-Za-z0-9][\w.@:-]*"  # what a queue or an account may be called: never an option, never a path


class Resources(NamedTuple):
    """What one local job asks of the batch system; None leaves it to the site."""

    queue: str | None = None
    wall_seconds: int | None = None
    memory_mb: int | None = None
    account: str | None = None
    cores: int | None = None
    disk_mb: int | None = None


NOTHING: Mapping[str, Any] = {}


class Reason(NamedTuple):
    """Why something is as it is. Policies read the kind and the facts; the words are for people, and for searches."""

    kind: Kind = Kind.UNKNOWN
    facts: Mapping[str, Any] = NOTHING  # few and small, for each row has its own
    words: str = ""

    def __str__(self) -> str:
        return self.words

    def __bool__(self) -> bool:
        return bool(self.words)

    def worded(self, words: str) -> Reason:
        """Give the same reason in other words."""
        return self._replace(words=words)


NO_REASON = Reason()


class Piece(NamedTuple):
    """One part of the work: a range of events, a list of arguments, or what a splitter made of the input."""

    first_event: int | None = None
    events: int | None = None
    arguments: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # names of its input files
    mask: Mapping[str, Any] = NOTHING  # the part of them that it may process
    variables: Mapping[str, str] = NOTHING  # what the splitter told of it
    attributes: Mapping[str, Any] = NOTHING  # of the request, where its own differ
    source: int | None = None  # the local job whose work it does anew
    failure: str = ""  # why it has failed before it could ever be sent


class Job(NamedTuple):
    """One attempt at a local job, as a handler sees it when it builds the command."""

    grid_job: int
    key: str
    n: int
    attempt: int
    recovery: tuple[str, ...] = ()  # arguments the previous attempt left for this one

    @property
    def seed(self) -> int:
        """A random seed of this attempt's own, between 1 and 899,999,999."""
        import hashlib  # 5 ms that a door need not pay

        text = f"{self.key}\0{self.n}\0{self.attempt}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:8]) % 899_999_999 + 1


class Batch(NamedTuple):
    """One submission, as an adapter sees it when it builds the command."""

    mark: str
    script: str  # absolute path of what the batch system runs
    directory: str  # absolute path of the submission directory
    size: int  # more than 1: an array with indices 1 … size
    resources: Resources = Resources()
    options: tuple[str, ...] = ()  # the site's own words for the submit command
    avoid: tuple[str, ...] = ()  # hosts it shall not run on, where the adapter has a word for that


LONGEST_TOLD = 160  # of a command, which may name a thousand jobs


class Answer(NamedTuple):
    """What a command gave back. `code` is None when it never returned, negative for a signal."""

    command: tuple[str, ...]
    code: int | None
    out: str
    err: str
    seconds: float
    started: bool = True  # False: the system could not start it, so that nothing was done

    @property
    def said(self) -> str:
        """Its last words."""
        return " / ".join((self.err.strip() or self.out.strip()).splitlines()[-3:])

    def facts(self) -> str:
        """Tell which command it was, how it ended and its last words."""
        end = "did not return" if self.code is None else f"exit {self.code}"
        if self.code is not None and self.code < 0:
            end = f"signal {-self.code}"
        said = f": {self.said}" if self.said else ", no output"
        command = shlex.join(self.command)
        if len(command) > LONGEST_TOLD:
            command = f"{command[:LONGEST_TOLD]}…"
        return f"{command} ({end} after {self.seconds:.1f} s){said}"


class Observation(NamedTuple):
    """What a listing or an accounting record says of one batch job.

    `state` FAILED with `code` None means "ended, why is not told"; an ended job is reported COMPLETED
    or FAILED by its exit code, which JIM treats as a hint until the exit record is there. The `reason` of a job
    that is SUBMITTED says why it can never start as it is, and is empty where it only waits.
    """

    state: State
    mark: str
    code: int | None = None
    signal: int | None = None
    reason: str = ""
    word: str = ""  # the batch system's own word for the state
    stays: bool = False  # it has ended, and the queue keeps it until someone takes it out
    kind: Kind = Kind.UNKNOWN  # of its end, by the reason: `Adapter.kind_of` reads it


# What a listing is: (batch id, index) → observation. The index of a job that is no array is 1.
Listing = Mapping[tuple[str, int], Observation]
# Which jobs a command is about: (batch id, index). Index 0 means all of a batch id.
Ids = Sequence[tuple[str, int]]

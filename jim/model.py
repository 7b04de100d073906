"""JIM's vocabulary: frozen values and the rules between them. No I/O."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any, NamedTuple

# A batch command carries the mark of its submission in its environment. After a crash JIM finds the command by this
# mark; there is no moment in which the command lives unrecorded.
MARK_VARIABLE = "JIM_COMMAND_OF"
KEEPER_ENDS = "the keeper ends: "  # begins the last line of a keeper's log
DECIDE = "Nothing is sent or judged until you decide"  # there, if no keeper goes on before a person has decided
MOST_PRIORITY = 1000  # of a grid job; the lowest is -1000


class State(Enum):
    """The state of a local job. The values are shown and stored."""

    __hash__ = object.__hash__  # each value is one object: a listing looks up 100,000 of them

    WAITING = "waiting"  # not submitted yet
    SUBMITTING = "submitting"  # the result of the batch command is not known yet
    SUBMITTED = "submitted"
    RUNNING = "running"
    COMPLETING = "completing"  # exit record seen, outputs not yet verified
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"
    HELD = "held"
    SUSPENDED = "suspended"
    NEW = "new"  # given up before it was submitted
    COMPLETED_FROZEN = "completed_frozen"  # split again: other local jobs do its work, and it no longer counts
    FAILED_FROZEN = "failed_frozen"
    UNKNOWN = "unknown"  # only from adapters: an unknown word; never stored

    @property
    def final(self) -> bool:
        """No evidence changes this state."""
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
    """How far a grid job is: each step but COLLECTING names what has been done."""

    ACCEPTED = "accepted"
    RESOLVED = "resolved"
    SPLIT = "split"
    ACTIVE = "active"
    COLLECTING = "collecting"
    FINISHED = "finished"


class Standing(StrEnum):
    """The state of a grid job for gatekeepers; each door has its own words for these."""

    ACCEPTED = "accepted"
    PENDING = "pending"
    ACTIVE = "active"  # some local job has started
    SUSPENDED = "suspended"
    DONE = "done"  # completed
    FAILED = "failed"
    CANCELLED = "cancelled"  # also after some local job has failed

    @property
    def final(self) -> bool:
        """The grid job has ended."""
        return self in (Standing.DONE, Standing.FAILED, Standing.CANCELLED)


class SubmissionState(StrEnum):
    """The state of a submission. The values are shown and stored."""

    INTENDED = "intended"  # its batch command has still to run
    UNKNOWN = "unknown"  # its answer was lost: the batch system may have it
    FULL = "full"  # the same after the answer that there is no room
    REFUSED = "refused"  # the batch system said no; JIM will fence it
    CANCELLED = "cancelled"  # cancelled before it was submitted, as far as JIM knows; JIM will fence it
    RECORDED = "recorded"  # the batch system returned its id
    CONFIRMED = "confirmed"  # a listing or a claim has shown it
    VOID = "void"  # no attempt of it can start
    ENDED = "ended"  # all its attempts have verdicts


class Verb(StrEnum):
    """The wishes for grid jobs and local jobs."""

    CANCEL = "cancel"
    SUSPEND = "suspend"
    RESUME = "resume"
    RETRY = "retry"
    REDO = "redo"
    FORCE = "force"
    RESPLIT = "resplit"
    EDIT = "edit"
    PRIORITY = "priority"
    PUBLISH = "publish"
    REMOVE = "remove"


class Kind(StrEnum):
    """The kind of a reason: policies read it. The values are stored, and the words behind them are told.

    docs/design/keeper.md says how to add one.
    """

    UNKNOWN = ""  # a person's words, or a reason from an older version
    # From an exit record
    EXIT = "exit"  # the payload ended with an exit code
    KILLED = "killed"  # by a signal that payloads do not send themselves
    WARNED = "warned"  # the payload ended after the batch system had sent it a signal
    INPUT_GONE = "input gone"  # the payload exited, and an input of it is not there
    LACKING = "lacking"  # the node lacks something that the site promises
    OVER_TIME = "over time"  # killed after it ran longer than allowed
    NOT_TAKEN = "outputs not taken"  # the wrapper could not take an output, so the attempt has failed
    OUTPUTS_DIFFER = "outputs differ"  # what lies in the work directory is not what the exit record says
    OUTPUTS_LOST = "outputs lost"  # they are gone or changed, after they were verified: no fault of the host
    # From accounting
    ACCOUNTING = "accounting"  # how the job ended, in words that are none of the following
    TIME_LIMIT = "time limit"  # the batch system ended the job at its time limit
    CPU_LIMIT = "cpu limit"  # the batch system ended the job at its limit of CPU time
    MEMORY = "memory"  # the batch system ended the job for want of memory
    TIME_OR_MEMORY = "time or memory limit"  # the batch system ended the job at a limit, and does not say which
    NODE = "node"  # the node failed, not the job
    # Other ends of attempts
    LOST = "lost"  # the job left the queue without having started
    VANISHED = "vanished"  # it started, ended, and left no exit record
    AVOIDED = "avoided"  # it came to a host that JIM avoids, and its wrapper has left it to another
    NOT_BEGUN = "not begun"  # the batch jobs of its bundle ended, and none of them has begun it
    PUT_BACK = "put back"  # into the queue, by the batch system, after it had started
    REMOVED = "removed"  # its directory was removed while it ran
    CANCELLED = "cancelled"  # a person or a gatekeeper has cancelled it
    NOT_ACCEPTED = "not accepted"  # the batch system has not taken the submission, which is fenced and sent again
    REFUSED = "refused"  # the batch system says that it will never take such a job
    TOO_MANY = "too many"  # the batch system takes no more jobs now: others must end first
    NEVER_SENT = "never sent"  # the job type could not name the payload
    NOT_MADE = "not made"  # the local job failed on its creation
    BROKEN = "broken"  # a promise that a piece of a task waited for
    NOT_BROUGHT = "not brought"  # a piece of a task lacks outputs that it has promised
    # Results of batch commands
    UNCLEAR = "unclear"  # the answer proves nothing: the batch system may have obeyed or not
    NO_ANSWER = "no answer"  # unclear, in words of a lost answer
    STUMBLED = "stumbled"  # the adapter cannot read the answer
    NOT_NOW = "not now"  # the command failed, and may succeed later
    NOT_STARTED = "not started"  # the command could not be started here, so nothing was done
    NOT_LISTED = "not listed"  # it was accepted, but is not in the queue
    # From listings, about queued or running jobs
    NEVER_STARTS = "never starts"  # the batch system says that the job can never start as it was asked for
    ODD_WORD = "odd word"  # a state in a word that the adapter does not know
    NOTED = "noted"  # what the batch system says beside the state, as it says it
    # Other reasons of local jobs
    WISHED = "wished"  # a person has asked for this change
    RESTORED = "restored"  # the status DB was restored from a backup that did not have it yet

    @classmethod
    def _missing_(cls, value: object) -> Kind:
        """Treat a kind from a newer version as unknown: it decides nothing."""
        return cls.UNKNOWN


class Witness(Enum):
    """The source of a fact, strongest first."""

    EXIT_RECORD = "exit record"
    CLAIM = "claim"
    ACCOUNTING = "accounting"
    QUEUE = "queue"
    FENCE = "fence"  # the keeper holds the claim: the attempt never starts
    SUBMISSION = "submission"  # the batch system's answer to the submission
    USER = "user"
    KEEPER = "keeper"


_AS_SUBMITTED = frozenset({State.WAITING, State.SUBMITTING, State.SUBMITTED, State.HELD})
_AS_RUNNING = frozenset({State.RUNNING, State.COMPLETING, State.SUSPENDED})


def roll_up(counts: Mapping[State, int], *, strict: bool = False) -> State:
    """Derive a grid job's status from the number of its local jobs in each state.

    Some not yet running → submitted; otherwise some running → running; some failed → failed; some completed →
    completed; otherwise killed. `strict`, a site's choice: some killed → killed, before completed. Local jobs that are
    `new` (given up before submission) or frozen do not count; if there are no others → new.
    """
    present = {state for state, count in counts.items() if count}
    if present & _AS_SUBMITTED:
        return State.SUBMITTED
    if present & _AS_RUNNING:
        return State.RUNNING
    others = (State.KILLED, State.COMPLETED) if strict else (State.COMPLETED, State.KILLED)
    return next((state for state in (State.FAILED, *others) if state in present), State.NEW)


BATCH_NAME = r"[A-Za-z0-9][\w.@:-]*"  # a valid name of a queue or account: never an option, never a path


class Resources(NamedTuple):
    """The resources of one local job; None leaves one to the site."""

    queue: str | None = None
    wall_seconds: int | None = None
    memory_mb: int | None = None
    account: str | None = None
    cores: int | None = None
    disk_mb: int | None = None
    warn_seconds: int | None = None  # before the time limit; the wrapper warns, not the batch system
    gpus: int | None = None
    constraint: str | None = None  # what a node must have: NAME or NAME=VALUE, several with commas
    licences: str | None = None  # NAME or NAME:COUNT, several with commas
    batch_options: Sequence[str] | None = None  # words of the submit command, which the site allows


NOTHING: Mapping[str, Any] = {}


class Reason(NamedTuple):
    """Why something is as it is. Policies read the kind and the facts; people read and search the words."""

    kind: Kind = Kind.UNKNOWN
    facts: Mapping[str, Any] = NOTHING  # few and small, because every row has its own
    words: str = ""

    def __str__(self) -> str:
        return self.words

    def __bool__(self) -> bool:
        return bool(self.words)

    def worded(self, words: str) -> Reason:
        """Return the same reason in other words."""
        return self._replace(words=words)


NO_REASON = Reason()


class Piece(NamedTuple):
    """One part of the work: a range of events, a list of arguments, or a part of the input that a splitter made."""

    first_event: int | None = None
    events: int | None = None
    arguments: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # the names of its input files
    mask: Mapping[str, Any] = NOTHING  # the part of the files that it may process
    variables: Mapping[str, str] = NOTHING  # further facts from the splitter
    attributes: Mapping[str, Any] = NOTHING  # attributes that differ from the request
    source: int | None = None  # the local job whose work it repeats
    failure: str = ""  # why it failed before it could be submitted


class Job(NamedTuple):
    """One attempt at a local job, for a handler that builds the command."""

    grid_job: int
    key: str
    n: int
    attempt: int
    recovery: tuple[str, ...] = ()  # arguments that the previous attempt left for this one
    of_task: tuple[str, int, int] | None = None  # of a task: its nonce, the piece, and attempts in grid jobs before

    @property
    def seed(self) -> int:
        """The random seed of this attempt, between 1 and 899,999,999."""
        import hashlib  # imported here: a door saves 5 ms

        if self.of_task:
            from jim.attempts.seeds import seed_of  # most grid jobs are no task's

            nonce, piece, before = self.of_task
            return seed_of(nonce, piece, before + self.attempt)
        text = f"{self.key}\0{self.n}\0{self.attempt}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:8]) % 899_999_999 + 1


class Batch(NamedTuple):
    """One submission, for an adapter that builds the command."""

    mark: str
    script: str  # absolute path of the script that the batch system runs
    directory: str  # absolute path of the submission directory
    size: int  # more than 1: an array with indices 1 … size
    resources: Resources = Resources()
    options: tuple[str, ...] = ()  # the site's own words for the submit command
    avoid: tuple[str, ...] = ()  # hosts that it must not use, if the adapter has a word for that


LONGEST_TOLD = 160  # of a command, which may name a thousand jobs


class Answer(NamedTuple):
    """The answer of a command. `code` is None if the command did not return, and negative for a signal."""

    command: tuple[str, ...]
    code: int | None
    out: str
    err: str
    seconds: float
    started: bool = True  # False: the system could not start the command, so nothing was done

    @property
    def said(self) -> str:
        """The last words of the answer."""
        return " / ".join((self.err.strip() or self.out.strip()).splitlines()[-3:])

    def facts(self) -> str:
        """Return the last words, the end, and the command, which people need least."""
        end = "did not return" if self.code is None else f"exit {self.code}"
        if self.code is not None and self.code < 0:
            end = f"signal {-self.code}"
        command = shlex.join(self.command)
        if len(command) > LONGEST_TOLD:
            command = f"{command[:LONGEST_TOLD]}…"
        return f"{self.said or 'no output'} ({end} after {self.seconds:.1f} s: {command})"


# The command in words of `Answer.facts`, behind its program; a list of reasons may have several.
_COMMAND = re.compile(r"( after \d+\.\d s: \S+) .+?\)(?=$|[,;:]| \()")


def without_command(words: str) -> str:
    """Return words of `Answer.facts` with only the program of the command: for narrow columns."""
    return _COMMAND.sub(r"\1 …)", words)


class Observation(NamedTuple):
    """What a listing or an accounting record says about one batch job.

    `state` FAILED with `code` None means "ended, cause unknown". An ended job is COMPLETED or FAILED by its exit code;
    JIM treats this as a hint until it has the exit record. The `reason` of a SUBMITTED job says why it can never start;
    it is empty if the job only waits.
    """

    state: State
    mark: str
    code: int | None = None
    signal: int | None = None
    reason: str = ""
    word: str = ""  # the batch system's own word for the state
    stays: bool = False  # it has ended, but stays in the queue until someone removes it
    kind: Kind = Kind.UNKNOWN  # the kind of its end: `Adapter.kind_of` reads it from the reason
    waits: str = ""  # why a SUBMITTED job waits, in the batch system's own words, which decide nothing


# A listing: (batch id, index) → observation. A job that is not an array has index 1.
Listing = Mapping[tuple[str, int], Observation]
# The jobs that a command is about: (batch id, index). Index 0 means the whole batch id.
Ids = Sequence[tuple[str, int]]

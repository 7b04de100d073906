"""The values of tasks that the store keeps: frozen, without SQL."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from jim.model import Kind
from jim.statusdb.task_spec import Spec, spec_in


class TaskState(StrEnum):
    """The state of a task. The values are shown and stored."""

    CONFIGURED = "configured"
    TESTING = "testing"
    READY = "ready"
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    FINISHED = "finished"


# What a task's throttle says in seconds since 1970.
THROTTLE_TIMES = ("decided", "newest", "good_since", "probed", "again")
# The keeper stays for these, also when nothing happens.
LIVE_TASKS = (TaskState.TESTING, TaskState.RUNNING, TaskState.CANCELLING)
STARTED = (TaskState.RUNNING, TaskState.PAUSED, TaskState.CANCELLING, TaskState.FINISHED, TaskState.CANCELLED)


class ItemState(StrEnum):
    """The state of an item in the book of one task."""

    PROMISED = "promised"  # by a piece of another task, and in no piece
    AVAILABLE = "available"
    ACQUIRED = "acquired"
    COMPLETED = "completed"
    FAILED = "failed"
    LATE = "late"  # it came after its group or source was closed
    GONE = "gone"  # removed, or changed, before its piece was sent
    LEFT_OUT = "left out"  # closed, and no piece comes of it
    DROPPED = "dropped"  # given up by a person


class PieceState(StrEnum):
    """The state of a piece."""

    WAITING = "waiting"  # for what is only promised
    READY = "ready"
    SENT = "sent"
    COMPLETED = "completed"
    FAILED = "failed"
    TAKEN_BACK = "taken back"  # an input, or its part of one, went away before it was sent
    REPLACED = "replaced"  # new pieces do its work


UNSENT = (PieceState.WAITING, PieceState.READY)
LIVE_PIECES = (*UNSENT, PieceState.SENT)


class OutputState(StrEnum):
    """The state of what a piece brings into an output pool."""

    PROMISED = "promised"
    VERIFIED = "verified"  # its file is there, in the work directory
    STORED = "stored"
    BROKEN = "broken"  # its piece has failed, or its task was cancelled before its file had its place
    REPLACED = "replaced"  # other pieces promise it
    WITHDRAWN = "withdrawn"  # its piece was taken back, or has brought none of any number


# What becomes of an output when its piece gets a state: from these states to that one.
OUTPUT_FOLLOWS = {
    PieceState.READY: ((OutputState.BROKEN,), OutputState.PROMISED),
    PieceState.SENT: ((OutputState.BROKEN,), OutputState.PROMISED),
    PieceState.FAILED: ((OutputState.PROMISED, OutputState.VERIFIED), OutputState.BROKEN),
    PieceState.TAKEN_BACK: ((OutputState.PROMISED, OutputState.BROKEN), OutputState.WITHDRAWN),
    PieceState.REPLACED: ((OutputState.PROMISED, OutputState.BROKEN), OutputState.REPLACED),
}


class Todo(StrEnum):
    """What a worker has still to do with an output."""

    NOTHING = ""
    READ = "read"  # the file that describes it; until then its piece is not completed
    STORE = "store"
    WITHDRAW = "withdraw"  # its piece is done again: the stored file is moved aside first


class WaveState(StrEnum):
    """The state of a wave."""

    INTENDED = "intended"  # its request has still to be handed in
    HANDED_IN = "handed in"
    SETTLED = "settled"  # its grid job has finished, and its journal is followed to the end
    REFUSED = "refused"  # its request could not be handed in


class Task(NamedTuple):
    """A standing order."""

    id: int
    name: str
    nonce: str
    owner: str
    spec_text: str
    digest: str
    state: TaskState
    outcome: str
    reason: str
    tested: str
    tests: int
    priority: int
    throttle: Mapping[str, int]
    next_piece: int
    next_wave: int
    created: str
    updated: str

    @property
    def spec(self) -> Spec:
        """Return the checked task file."""
        return spec_in(self.spec_text)


EMPTY = "it is empty"  # why a file is not taken, in `Source.waits`
UNPRINTABLE = "its name has characters that cannot be printed"
NOT_KEPT = "its grid job is no longer kept, nor is its file"  # the note of an item that is gone for good
DAMAGED = "its file was damaged before it was used"  # the note of an item that is gone until it is made again
CHANGING = "its file is changing"  # the note of an item that is gone until its file has come to rest


class Source(NamedTuple):
    """What fills an input pool, and what is known of it."""

    task: int
    k: int
    kind: str
    closed: str
    device: str
    looked: str
    reason: str
    since: str
    waits: str
    upstream: int = 0  # the task that feeds it
    stream: str = ""  # by this output
    upto: int = 0  # the last output of before that was looked at


class Group(NamedTuple):
    """Items of a task that no piece mixes with others."""

    task: int
    grp: str
    closed: str
    ended: str
    dirty: int  # counts what has changed since it was planned
    flush: int  # 1: to be planned as if nothing more would come


class Item(NamedTuple):
    """One thing to work on."""

    id: int
    task: int
    name: str
    grp: str
    state: ItemState
    since: float
    size: int
    mtime: str
    upto: int
    live: int
    failed: int
    note: str
    record: Mapping[str, Any]
    there: int = 1  # 0: only promised; -1: the promise is broken
    output: int = 0  # of another task, which this is


class KnownItem(NamedTuple):
    """What a listing is compared with."""

    id: int
    name: str
    grp: str
    state: ItemState
    size: int
    mtime: str  # empty: it was named by a list or a person, who say nothing of a file
    noted: int = 0  # 1: it has a note; 2: that its file was removed; 3: that its file is changing


class NewItem(NamedTuple):
    """An item that a look has found."""

    name: str
    grp: str = ""
    size: int = 0
    mtime: str = ""
    record: Mapping[str, Any] = {}


WANTED = 2  # a person wants a failed piece tried again
EATEN = 3  # a black hole has eaten it
REDO = 4  # it was sent with what is made again since: it is released once more when its local job has ended


class PieceRow(NamedTuple):
    """One piece of a task."""

    task: int
    p: int
    grp: str
    state: PieceState
    record: Mapping[str, Any]
    wave: int
    n: int
    attempts: int
    reason: str
    kind: Kind
    ended: float = 0.0  # in seconds since 1970
    again: int = 0  # 1: it was tried again after a bad time; WANTED or EATEN: it is to be tried again
    turn: int = 1  # 0: it is released before others
    missing: int = 0  # items that are only promised
    planned: float = 0.0  # when, in seconds since 1970
    seconds: float = 0.0  # that its completed attempt took


class Part(NamedTuple):
    """The part of an item that a piece may process; None: no limit."""

    item: int
    first_event: int | None = None
    last_event: int | None = None
    first_lumi: int | None = None
    last_lumi: int | None = None
    run: int | None = None


class NewPiece(NamedTuple):
    """A piece that is planned."""

    grp: str
    record: Mapping[str, Any]
    parts: tuple[Part, ...]


SPOILT = -1  # the file of an output is gone or changed, and has some time to come back
USED = -2  # the same, and more of its piece is used: it is not made again by itself


class Output(NamedTuple):
    """What a piece brings into an output pool: a promise at first, then a file."""

    id: int
    task: int
    p: int
    stream: str
    k: int
    grp: str
    state: OutputState
    todo: Todo
    due: float  # when that is tried next, in seconds since 1970
    tries: int  # or what is wrong with its file: `SPOILT`, `USED`
    reason: str  # why that has failed
    name: str  # of the file, as the payload has left it
    place: str  # the path of the file
    sha256: str
    bytes: int
    record: Mapping[str, Any]  # what splitters may know besides
    fix: int
    promised: float
    changed: float


class Unfulfilled(NamedTuple):
    """A piece that waits for a promise which is broken, or will not be fulfilled."""

    p: int
    item: str
    reason: str


class Brought(NamedTuple):
    """A file that the local job of a piece has left for an output pool."""

    name: str
    place: str
    sha256: str
    bytes: int


class Wave(NamedTuple):
    """A grid job that a task hands in; of a test, t counts the tests."""

    task: int
    t: int
    w: int
    state: WaveState
    grid: int
    size: int
    sha256: str
    pieces: str
    followed: int
    version: int
    ending: str
    reason: str
    created: str
    fix: int = 0  # the last fix that its attempts have


class TaskLine(NamedTuple):
    """One line of a task's journal."""

    seq: int
    at: str
    what: str
    reason: str


class Ended(NamedTuple):
    """What became of a piece, by its local job."""

    p: int
    state: PieceState
    reason: str = ""
    kind: Kind = Kind.UNKNOWN

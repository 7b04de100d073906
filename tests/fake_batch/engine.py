"""What a batch system has and does, whatever it says about it; and the ledger, which cannot lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple


class Phase(Enum):
    """Where a task really is. ODD is only ever said: each dialect has a word for it that its adapter does not know."""

    PENDING = "pending"
    HELD = "held"
    RUNNING = "running"
    SUSPENDED = "suspended"
    ENDED = "ended"
    ODD = "odd"


CHANGES = {
    "hold": {Phase.PENDING: Phase.HELD},
    "release": {Phase.HELD: Phase.PENDING},
    "suspend": {Phase.RUNNING: Phase.SUSPENDED},
    "resume": {Phase.SUSPENDED: Phase.RUNNING},
    "stop": {Phase.PENDING: Phase.HELD, Phase.RUNNING: Phase.SUSPENDED},  # either, as LSF does
    "go on": {Phase.HELD: Phase.PENDING, Phase.SUSPENDED: Phase.RUNNING},
}


class Submission(NamedTuple):
    """What a submit command asked for; `said` holds what only its dialect understands."""

    mark: str
    size: int
    script: str
    array: bool = True
    said: Mapping[str, str] = {}


class Job(NamedTuple):
    """An accepted submission."""

    id: int
    asked: Submission
    at: float


@dataclass
class Task:
    """One member of a batch job."""

    job: Job
    index: int
    phase: Phase = Phase.PENDING
    code: int | None = None
    signal: int | None = None
    why: str = ""  # cancelled, limit, node; empty: it ended by itself
    reaped: bool = True  # somebody saw it end
    starts: int = 0
    ended_at: float = 0.0
    accounted_at: float = 0.0  # when the accounts will have it
    hidden: int = 0  # so many more listings leave it out

    @property
    def mark(self) -> str:
        return self.job.asked.mark

    @property
    def key(self) -> tuple[str, int]:
        return self.mark, self.index


class Entry(NamedTuple):
    """A line of the ledger."""

    at: float
    event: str
    mark: str
    index: int
    id: int
    note: str = ""


@dataclass
class Engine:
    """The jobs of one batch system. Time is told to it; nothing here knows a word of any dialect."""

    now: Callable[[], float]
    ledger: list[Entry] = field(default_factory=list)
    tasks: dict[tuple[int, int], Task] = field(default_factory=dict)
    next_id: int = 1
    accounts_after: float = 0.0  # how long the accounts take

    def note(self, event: str, mark: str, index: int = 0, id_: int = 0, note: str = "") -> None:
        """Write a line that is never changed."""
        self.ledger.append(Entry(self.now(), event, mark, index, id_, note))

    def about(self, event: str, task: Task, note: str = "") -> None:
        """Write a line about a task."""
        self.note(event, task.mark, task.index, task.job.id, note)

    def notes(self, event: str) -> Iterator[Entry]:
        """Give the lines of one sort."""
        return (entry for entry in self.ledger if entry.event == event)

    def of(self, id_: int, index: int = 0) -> list[Task]:
        """Give the tasks of a job, or the one with this index."""
        return [task for (job, at), task in self.tasks.items() if job == id_ and index in (0, at)]

    def accept(self, asked: Submission) -> Job:
        """Take a submission in, as often as it is handed over."""
        job = Job(self.next_id, asked, self.now())
        self.next_id += 1
        for index in range(1, asked.size + 1):
            self.tasks[job.id, index] = Task(job, index)
        self.note("accepted", asked.mark, id_=job.id)
        return job

    def begin(self, task: Task) -> None:
        """Start a task on a node."""
        task.phase, task.starts = Phase.RUNNING, task.starts + 1
        self.about("begun", task)

    def end(self, task: Task, code: int | None = None, signal: int | None = None, why: str = "") -> None:
        """Take a task's end in, true or not; the first one counts."""
        if task.phase is Phase.ENDED or self.tasks.get((task.job.id, task.index)) is not task:
            return
        task.phase, task.code, task.signal, task.why = Phase.ENDED, code, signal, why
        task.reaped, task.ended_at = why != "node", self.now()
        task.accounted_at = task.ended_at + self.accounts_after
        self.about("ended", task, why)

    def put_back(self, task: Task) -> None:
        """Put a task into the queue again, whatever was asked for."""
        task.phase, task.code, task.signal, task.why = Phase.PENDING, None, None, ""
        self.about("put back", task)

    def forget(self) -> None:
        """Crash: the job accepted last was never written down, and its id is given out again."""
        if self.next_id > 1:
            self.next_id -= 1
            for task in self.of(self.next_id):
                del self.tasks[self.next_id, task.index]
                self.about("forgotten", task)

    def cancel(self, task: Task) -> None:
        """End a task because someone asked for it."""
        if task.phase is not Phase.ENDED:
            self.about("cancelled", task)
            self.end(task, why="cancelled")

    def change(self, verb: str, task: Task) -> None:
        """Hold, release, suspend or resume a task, where it is in a phase for that."""
        task.phase = CHANGES[verb].get(task.phase, task.phase)

    def photograph(self) -> list[Task]:
        """Give a copy of all tasks, which later things do not change."""
        return [replace(task) for task in self.tasks.values()]

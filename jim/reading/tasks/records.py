"""What is read of a task, as values; programs get their records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jim.reading.job.history import Spread
from jim.reading.tasks.attempts import AttemptSeen
from jim.reading.tasks.facts import SourceSeen, Sums
from jim.reading.tasks.hindrances import Hindrance
from jim.reading.tasks.pace import Eta
from jim.reading.tasks.tests import TestFacts
from jim.statusdb.task_rows import Output, Part, PieceState, TaskLine, TaskState, Wave


class TaskSeen(NamedTuple):
    """A task, with what is counted of it."""

    name: str
    summary: str
    state: TaskState
    outcome: str
    reason: str  # what hinders it, or why it is in its state
    hindrances: Sequence[Hindrance]  # the gravest first
    open: bool  # more items may come
    items: Mapping[str, int]
    pieces: Mapping[str, int]
    pieces_in_all: int | None  # with those that are still to be planned; none: nobody knows yet
    campaigns: bool  # its items are ranges of events
    outputs: Mapping[str, Mapping[str, int]]
    on_the_way: int
    queued: int  # of these, pieces that have not started
    throttle: Mapping[str, int]
    eta: Eta | None
    priority: int
    tests: int
    tested: bool  # as it is now
    created: str
    updated: str
    owner: str

    @property
    def eta_seconds(self) -> int | None:
        """Return how long it still takes, in whole seconds."""
        return round(self.eta.seconds) if self.eta else None

    def to_record(self) -> dict[str, Any]:
        """Return it for programs."""
        of = {"left": self.eta.left, "completed_last_hour": self.eta.last_hour} if self.eta else None
        eta = {"eta_seconds": self.eta_seconds, "eta_of": of}
        record: dict[str, Any] = {}
        for name, value in self._asdict().items():
            record |= eta if name == "eta" else {name: value}
        return record | {"state": self.state.value, "hindrances": [each._asdict() for each in self.hindrances]}


class GroupCounts(NamedTuple):
    """What is counted of a group, by what and by state: items, pieces and each output."""

    group: str
    closed: str  # since when; empty: it is open
    counts: Mapping[str, Mapping[str, int]]

    def to_record(self) -> dict[str, Any]:
        """Return it for programs."""
        return {"group": self.group, "closed": self.closed, **self.counts}


class FailureSeen(NamedTuple):
    """Pieces that have failed for the same reason except for numbers and names."""

    reason: str  # * stands for the differences
    times: int
    example: str  # a piece, and its local job


class TaskInDetail(NamedTuple):
    """A task with all that there is to tell of it."""

    task: TaskSeen
    sums: Sums
    test: TestFacts
    spreads: Sequence[Spread]
    fixes: Mapping[str, Mapping[str, Any]]  # changes of attributes, by their numbers
    avoided_hosts: Sequence[str]
    file: str
    file_differs: bool  # from what runs
    sources: Sequence[SourceSeen]
    groups: Sequence[GroupCounts]
    failures: Sequence[FailureSeen]
    waves: Sequence[Wave]
    journal: Sequence[TaskLine]

    def to_record(self) -> dict[str, Any]:
        """Return it for programs: the facts of the task and its sums first, beside one another."""
        lists = {
            name: [each._asdict() for each in getattr(self, name)]
            for name in ("spreads", "sources", "failures", "journal")
        }
        lists |= {"groups": [each.to_record() for each in self.groups], "waves": list(map(_wave, self.waves))}
        own = {name: value for name, value in self._asdict().items() if name not in ("task", "sums")}
        return self.task.to_record() | self.sums._asdict() | own | {"test": _test(self.test), **lists}


class ItemPart(NamedTuple):
    """An item of a piece, and the part of it that the piece may process."""

    name: str
    part: Part

    def to_record(self) -> dict[str, Any]:
        """Return it for programs."""
        limits = {name: value for name, value in self.part._asdict().items() if value is not None}
        return {**limits, "item": self.name, "id": self.part.item}


class PieceInDetail(NamedTuple):
    """A piece of a task, with its items and attempts, and what it promises or has brought."""

    piece: int
    group: str
    state: PieceState
    wave: int  # 0: it is in none
    local_job: str  # empty: it is in no grid job
    planned: str
    missing: int  # items that are only promised
    attempts_before: int  # in earlier waves
    attempts: Sequence[AttemptSeen]
    seconds: float | None  # that its completed attempt took
    fixes: Mapping[str, Mapping[str, Any]]
    changes: Mapping[str, Any]  # of attributes, for this piece alone
    reason: str
    items: Sequence[ItemPart]
    outputs: Sequence[Output]

    def to_record(self) -> dict[str, Any]:
        """Return it for programs."""
        return self._asdict() | {
            "state": self.state.value,
            "attempts": [each._asdict() for each in self.attempts],
            "items": [each.to_record() for each in self.items],
            "outputs": [_output(each) for each in self.outputs],
        }


def _output(output: Output) -> dict[str, Any]:
    kept = ("name", "place", "sha256", "bytes", "fix", "reason")
    own = {name: getattr(output, name) for name in kept}
    return {"output": output.stream, "k": output.k, "state": output.state.value, **own, "record": output.record}


def _test(test: TestFacts) -> dict[str, Any]:
    criteria = [{"what": what, "met": met} for what, met in test.criteria]
    pieces = [each._asdict() for each in test.pieces]
    return {**test._asdict(), "pieces": pieces, "criteria": criteria, "measured": test.measured()}


def _wave(wave: Wave) -> dict[str, Any]:
    kept = ("w", "size", "grid", "reason", "created")
    return {"test": wave.t, **{name: getattr(wave, name) for name in kept}, "state": wave.state.value}
